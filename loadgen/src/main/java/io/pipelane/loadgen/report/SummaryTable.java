package io.pipelane.loadgen.report;

import io.pipelane.loadgen.experiment.Estimate;
import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.experiment.Step;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;

/**
 * All loads of an experiment below each other, with 95 % intervals where there are several runs.
 */
public final class SummaryTable {
  private static final List<Double> PERCENTILES = List.of(50.0, 99.0, 99.9);

  private SummaryTable() {}

  /** Prints an experiment and flushes. */
  public static void print(PrintWriter out, Experiment experiment) {
    out.printf("%n%-28s %20s", "load", "answers/s");
    for (double percentile : PERCENTILES) {
      out.printf(" %20s", LatencySummary.name(percentile) + " ms");
    }
    out.printf(" %7s%n", "errors");
    for (Step step : experiment.steps()) {
      out.printf("%-28s %20s", step.mode().label(), figure(step.answersPerSecond(), 1));
      for (double percentile : PERCENTILES) {
        out.printf(" %20s", figure(step.responseNanos(percentile), 1e6));
      }
      out.printf(" %7d%s%n", step.errorCount(), remark(step));
    }
    if (experiment.highest().isPresent()) {
      out.println(
          experiment
              .highestMode()
              .map(mode -> "the highest load that holds the limit: " + mode.label())
              .orElse("not even the lowest load holds the limit"));
    }
    out.flush();
  }

  private static String figure(Estimate estimate, double divisor) {
    if (estimate.runs() == 0) {
      return "-";
    }
    String mean = String.format(Locale.ROOT, "%.3f", estimate.mean() / divisor);
    return estimate.runs() < 2
        ? mean
        : mean + String.format(Locale.ROOT, " ± %.3f", estimate.halfWidth() / divisor);
  }

  private static String remark(Step step) {
    return (step.isStable() ? "" : " unstable") + (step.isBottlenecked() ? " generator" : "");
  }
}
