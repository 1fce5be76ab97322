package io.pipelane.demo.report;

import com.google.errorprone.annotations.FormatMethod;
import io.pipelane.config.value.ByteSize;
import io.pipelane.demo.plain.Reference;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * The report that the demo prints, for somebody who sees Pipelane for the first time. Plain ASCII.
 */
public final class DemoReport {
  private final PrintWriter out;

  /** Prints to {@code out}, each part as soon as it is known. */
  public DemoReport(PrintWriter out) {
    this.out = out;
  }

  /** Says what is about to happen. */
  public void begin(int models, long fileBytes, ByteSize memory, Path repository) {
    line("%d real models, %s MB of files, are registered in", models, megabytes(fileBytes));
    line("  %s", repository);
    line(
        "and served from device memory with room for %s MB of weights.", megabytes(memory.bytes()));
    line("");
  }

  /** Says that every model can be asked. */
  public void ready(String device, Duration sinceStart) {
    line(
        "Checked, optimised and cut into segments in %.1f s, for %s.",
        sinceStart.toMillis() / 1e3, device);
    line("");
  }

  /** Shows what a model was asked and what came back. */
  public void answer(String model, String question, String answer) {
    line("%s", model);
    line("  asked:    %s", question);
    line("  answered: %s", answer);
  }

  /**
   * Shows the measurements.
   *
   * @param reference what answers were compared with
   */
  public void models(List<ModelRow> rows, Reference reference) {
    TextTable table =
        new TextTable(
            "model", "weights MB", "in place MB", "groups", "cold ms", "warm ms", "difference");
    for (ModelRow row : rows) {
      table.row(
          row.model(),
          megabytes(row.weightBytes()),
          megabytes(row.inPlaceBytes()),
          Integer.toString(row.groups()),
          oneDigit(row.coldMillis()),
          oneDigit(row.warmMillis()),
          difference(row));
    }
    line("");
    table.lines().forEach(text -> line("%s", text));
    line("");
    line("in place    weights that are read from host memory, a few rows a request; not copied");
    line("groups      copies that bring the weights to the device; early layers run meanwhile");
    line("cold, warm  a request over HTTP, with none and with all of the weights on the device");
    line(
        "difference  from %s: |a - b| / |b|, equal up to %s",
        reference.description(), tolerances(reference));
  }

  /** Shows who holds how much device memory. */
  public void ledger(List<LedgerRow> rows) {
    TextTable table = new TextTable("device memory", "MB");
    rows.forEach(row -> table.row(row.name(), megabytes(row.bytes())));
    line("");
    table.lines().forEach(text -> line("%s", text));
  }

  /** Shows what it was like to lose the process that models run in. */
  public void loss(LossReport loss) {
    line("");
    line(
        "Killed the process that models run in (pid %d) while %s was asked %d times:",
        loss.pid(), loss.model(), loss.requests());
    line(
        "%d of %d answers as before. Another process took over after %.1f ms; the slowest answer",
        loss.right(), loss.requests(), loss.pauseMillis());
    line("took %.1f ms, the median %.1f.", loss.slowestMillis(), loss.medianMillis());
  }

  /** Shows commands to paste while the server goes on. */
  public void examples(List<CurlExample> examples) {
    line("");
    line("Serving until stopped (Ctrl-C). Paste any of these into another terminal:");
    for (CurlExample example : examples) {
      line("");
      line("# %s", example.purpose());
      line("%s", example.command());
    }
  }

  @FormatMethod
  private void line(String format, Object... arguments) {
    out.print(String.format(Locale.ROOT, format, arguments) + "\n");
    out.flush();
  }

  private static String megabytes(long bytes) {
    return oneDigit(bytes / 1e6);
  }

  private static String oneDigit(double value) {
    return String.format(Locale.ROOT, "%.1f", value);
  }

  private static String tolerances(Reference reference) {
    String text = String.format(Locale.ROOT, "%.0e", reference.tolerance());
    return reference.tolerance() == reference.quantizedTolerance()
        ? text
        : String.format(
            Locale.ROOT, "%s, quantized models up to %.0e", text, reference.quantizedTolerance());
  }

  private static String difference(ModelRow row) {
    double value = row.difference();
    String number = value == 0 ? "0" : String.format(Locale.ROOT, "%.0e", value);
    return row.isEqual() ? number : number + " (!)";
  }
}
