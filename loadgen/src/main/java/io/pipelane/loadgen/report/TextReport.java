package io.pipelane.loadgen.report;

import io.pipelane.loadgen.result.ErrorCount;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.ModelReport;
import java.io.PrintWriter;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/** A report as a table for people, latencies in milliseconds. */
public final class TextReport {
  private final PrintWriter out;
  private final boolean openLoop;

  /**
   * A table printer.
   *
   * @param openLoop whether response and service times differ, so that both are shown
   */
  public TextReport(PrintWriter out, boolean openLoop) {
    this.out = out;
    this.openLoop = openLoop;
  }

  /** Prints a report and flushes. */
  public void print(LoadReport report) {
    int nameWidth = report.models().stream().mapToInt(m -> m.model().length()).max().orElse(0);
    nameWidth = Math.clamp(nameWidth, 5, 40);
    printHeader(nameWidth);
    if (report.models().size() > 1) {
      for (ModelReport model : report.models()) {
        printModel(nameWidth, model.model(), model);
      }
    }
    String name = report.models().size() > 1 ? "all" : report.models().getFirst().model();
    printModel(nameWidth, name, report.total());
    out.println();
    printErrors(report);
    double seconds = report.window().toNanos() / 1e9;
    out.printf(
        Locale.ROOT,
        "client CPU   %.2f s of %.2f s (%.1f µs a request; load thread %.2f s)%n",
        report.cpu().process().toNanos() / 1e9,
        seconds,
        report.cpu().process().toNanos() / 1e3 / Math.max(1, report.sends().sent()),
        report.cpu().loadThread().toNanos() / 1e9);
    if (openLoop) {
      out.printf(
          Locale.ROOT,
          "late sends   %d of %d over 1 ms after their time, %d of them by the generator's fault%n",
          report.sends().late(),
          report.sends().sent(),
          report.sends().lateByGenerator());
    }
    report.warnings().forEach(warning -> out.println("warning: " + warning));
    out.flush();
  }

  private void printHeader(int nameWidth) {
    out.printf(
        "%n%-" + nameWidth + "s %-8s %9s %7s %9s %9s",
        "model",
        "ms",
        "answered",
        "errors",
        "answers/s",
        "mean");
    for (double percentile : LatencySummary.PERCENTILES) {
      out.printf(" %9s", LatencySummary.name(percentile));
    }
    out.printf(" %9s%n", "max");
  }

  private void printModel(int nameWidth, String name, ModelReport model) {
    out.printf(
        Locale.ROOT,
        "%-" + nameWidth + "s %-8s %9d %7d %9.1f",
        name,
        "response",
        model.answered(),
        model.errorCount(),
        model.perSecond());
    printLatencies(model.responseNanos());
    if (openLoop) {
      out.printf("%-" + nameWidth + "s %-8s %9s %7s %9s", "", "service", "", "", "");
      printLatencies(model.serviceNanos());
    }
  }

  private void printLatencies(Histogram nanos) {
    LatencySummary latency = LatencySummary.of(nanos);
    printMillis(latency.mean());
    latency.percentiles().forEach(this::printMillis);
    printMillis(latency.max());
    out.println();
  }

  private void printMillis(double nanos) {
    out.printf(Locale.ROOT, " %9.3f", nanos / 1e6);
  }

  private void printErrors(LoadReport report) {
    for (ErrorCount error : report.total().errors()) {
      out.printf(
          "error        %d × %s, the first: %s%n",
          error.count(), error.kind(), error.firstMessage());
    }
  }
}
