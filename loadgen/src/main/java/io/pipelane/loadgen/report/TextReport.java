package io.pipelane.loadgen.report;

import com.google.errorprone.annotations.FormatMethod;
import io.pipelane.loadgen.experiment.MeasuredRun;
import io.pipelane.loadgen.result.ErrorCount;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.ModelReport;
import io.pipelane.loadgen.result.Objective;
import io.pipelane.loadgen.result.Pauses;
import io.pipelane.loadgen.result.StabilityReport;
import io.pipelane.loadgen.result.WarmthSplit;
import io.pipelane.loadgen.server.ModelStatistics;
import io.pipelane.loadgen.server.ModelStatistics.Time;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** A run as a table for people, latencies in milliseconds. */
public final class TextReport {
  /** Of more models those that were asked most have lines. */
  private static final int MOST_MODELS_SHOWN = 20;

  private final PrintWriter out;
  private final boolean openLoop;
  private final @Nullable Duration objective;
  private final ModelClasses classes;

  /**
   * A table printer.
   *
   * @param openLoop whether response and service times differ, so that both are shown
   * @param objective the response time that answers should come within
   * @param classes of models, which get lines of their own
   */
  public TextReport(
      PrintWriter out, boolean openLoop, @Nullable Duration objective, ModelClasses classes) {
    this.out = out;
    this.openLoop = openLoop;
    this.objective = objective;
    this.classes = classes;
  }

  /** Prints a run and flushes. */
  public void print(MeasuredRun run) {
    LoadReport report = run.report();
    List<ModelReport> members = classes.reports(report.models());
    int nameWidth =
        Stream.concat(report.models().stream(), members.stream())
            .mapToInt(model -> model.model().length() + 2)
            .max()
            .orElse(0);
    LatencyTable table = new LatencyTable(out, Math.clamp(nameWidth, 5, 40));
    table.header();
    if (report.models().size() > 1) {
      List<ModelReport> shown = mostAsked(report.models());
      shown.forEach(model -> printModel(table, model.model(), model));
      int others = report.models().size() - shown.size();
      if (others > 0) {
        print(
            "and %d others, asked no more than these; files of --json and --html have them all%n",
            others);
      }
    }
    members.forEach(model -> printModel(table, "[" + model.model() + "]", model));
    String name = report.models().size() > 1 ? "all" : report.models().getFirst().model();
    printModel(table, name, report.total());
    out.println();
    for (ErrorCount error : report.total().errors()) {
      print(
          "error        %d × %s, the first: %s%n",
          error.count(), error.kind(), error.firstMessage());
    }
    printServer(run);
    printObjective(report, members);
    printStability(report.stability());
    printGenerator(report);
    report.warnings().forEach(warning -> out.println("warning: " + warning));
    report
        .bottlenecks()
        .forEach(reason -> out.println("THE GENERATOR WAS THE BOTTLENECK: " + reason));
    out.flush();
  }

  /** In the order in which they come. */
  private static List<ModelReport> mostAsked(List<ModelReport> models) {
    Set<String> most =
        models.stream()
            .sorted(Comparator.comparingLong(TextReport::asked).reversed())
            .limit(MOST_MODELS_SHOWN)
            .map(ModelReport::model)
            .collect(Collectors.toSet());
    return models.stream().filter(model -> most.contains(model.model())).toList();
  }

  private static long asked(ModelReport model) {
    return model.answered() + model.errorCount();
  }

  private void printModel(LatencyTable table, String name, ModelReport model) {
    table.line(name, "response", model, model.responseNanos());
    if (openLoop) {
      table.line("", "service", null, model.serviceNanos());
    }
    WarmthSplit warmth = model.warmth();
    if (warmth != null) {
      printPart(table, "warm", warmth.warmNanos());
      printPart(table, "cold", warmth.coldNanos());
    }
  }

  private static void printPart(LatencyTable table, String kind, Histogram nanos) {
    if (nanos.getTotalCount() > 0) {
      table.line("", kind, null, nanos);
    }
  }

  private void printServer(MeasuredRun run) {
    if (run.server().isEmpty()) {
      out.println("server       tells no statistics: no times of its queue and its computation");
      return;
    }
    for (ModelReport model : mostAsked(run.report().models())) {
      ModelStatistics counted = run.server().get(model.model());
      if (counted != null && counted.inferences() > 0) {
        String parts =
            counted.times().entrySet().stream()
                .filter(part -> part.getValue().count() > 0)
                .sorted(Map.Entry.comparingByKey())
                .map(part -> part(part.getKey(), part.getValue(), counted.inferences()))
                .collect(Collectors.joining(", "));
        print(
            "server       %s: mean ms %s; %.1f rows a run%n",
            model.model(),
            parts,
            (double) counted.inferences() / Math.max(1, counted.executions()));
      }
    }
  }

  /** A mean, and of what happened to some inferences only, how often it did. */
  private static String part(String name, Time time, long inferences) {
    String mean = name + " " + millis(time.meanNanos());
    return time.count() < inferences ? mean + " × " + time.count() : mean;
  }

  private void printObjective(LoadReport report, List<ModelReport> members) {
    Duration limit = objective;
    if (limit != null) {
      printObjective("all requests", Objective.of(report, limit), limit);
      for (ModelReport model : members) {
        printObjective(
            "[" + model.model() + "]", Objective.of(model, limit, report.window()), limit);
      }
    }
  }

  private void printObjective(String whose, Objective held, Duration limit) {
    Double attainment = held.attainment();
    print(
        "objective    %s of %s within %s ms, goodput %.1f/s%n",
        attainment == null ? "-" : String.format(Locale.ROOT, "%.2f %%", 100 * attainment),
        whose,
        millis(limit),
        held.goodput());
  }

  private void printStability(@Nullable StabilityReport stability) {
    if (stability != null) {
      print(
          "windows      %d, the last three %s%n",
          stability.windows(),
          stability.stable() ? "agree and are shown" : "DO NOT AGREE: the figures are unstable");
    }
  }

  private void printGenerator(LoadReport report) {
    print(
        "client CPU   %.2f s of %.2f s (%.1f µs a request; load thread %.2f s)%n",
        report.cpu().process().toNanos() / 1e9,
        report.window().toNanos() / 1e9,
        report.cpu().process().toNanos() / 1e3 / Math.max(1, report.sends().sent()),
        report.cpu().loadThread().toNanos() / 1e9);
    Pauses pauses = report.pauses();
    print(
        "client lag   p99 %s ms sending, %s ms at any time; stood still %d times, %s ms in all, %s ms"
            + " at most; collections %s ms%n",
        millis(Duration.ofNanos(report.lagNanos().getValueAtPercentile(99))),
        millis(pauses.delay()),
        pauses.count(),
        millis(pauses.total()),
        millis(pauses.longest()),
        millis(report.cpu().collecting()));
    if (openLoop) {
      print(
          "late sends   %d of %d over 1 ms after their time, %d of them by the generator's fault%n",
          report.sends().late(), report.sends().sent(), report.sends().lateByGenerator());
    }
  }

  private static String millis(Duration duration) {
    return millis((double) duration.toNanos());
  }

  private static String millis(double nanos) {
    return String.format(Locale.ROOT, "%.3f", nanos / 1e6);
  }

  @FormatMethod
  private void print(String format, Object... values) {
    out.printf(Locale.ROOT, format, values);
  }
}
