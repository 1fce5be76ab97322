package io.pipelane.loadgen.compare;

import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.experiment.MeasuredRun;
import io.pipelane.loadgen.experiment.Step;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.Objective;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** Every server's figures as multiples of the first one's. */
public final class RatioTable {
  /** With two, the interval is wider than any difference. */
  private static final int FEWEST_ROUNDS = 3;

  private RatioTable() {}

  /**
   * Prints and flushes.
   *
   * @param names of the servers, in the experiments' order
   * @param objective the response time that answers should come within; null without one
   */
  public static void print(
      PrintWriter out,
      List<String> names,
      List<Experiment> experiments,
      @Nullable Duration objective) {
    out.printf(
        "%nMultiples of %s: geometric mean, 95 %% interval, smallest to largest round%n",
        names.getFirst());
    for (int step = 0; step < experiments.getFirst().steps().size(); step++) {
      Step base = experiments.getFirst().steps().get(step);
      out.printf("%n%s%n", base.mode().description());
      for (int server = 1; server < experiments.size(); server++) {
        Step own = experiments.get(server).steps().get(step);
        out.printf("  %s%s%n", names.get(server), remark(base, own));
        line(out, "answers/s", own, base, report -> report.total().perSecond());
        if (objective != null) {
          line(out, "goodput/s", own, base, report -> Objective.of(report, objective).goodput());
        }
        for (double percentile : new double[] {50, 90, 99}) {
          line(
              out,
              String.format(Locale.ROOT, "p%.0f", percentile),
              own,
              base,
              report -> report.total().responseNanos().getValueAtPercentile(percentile));
        }
        line(out, "mean", own, base, report -> report.total().responseNanos().getMean());
      }
    }
    out.flush();
  }

  private static void line(
      PrintWriter out, String name, Step own, Step base, ToDoubleFunction<LoadReport> figure) {
    Ratio ratio = Ratio.of(figures(own, figure), figures(base, figure));
    if (!Double.isFinite(ratio.mean())) {
      out.printf("    %-10s       -     nothing to compare in some round%n", name);
      return;
    }
    String interval =
        own.runs().size() < FEWEST_ROUNDS
            ? "too few rounds"
            : String.format(Locale.ROOT, "%.3f to %.3f", ratio.low(), ratio.high());
    out.printf(
        Locale.ROOT,
        "    %-10s %7.3f ×   %-18s  %.3f to %.3f%n",
        name,
        ratio.mean(),
        interval,
        ratio.smallest(),
        ratio.largest());
  }

  private static double[] figures(Step step, ToDoubleFunction<LoadReport> figure) {
    return step.runs().stream().map(MeasuredRun::report).mapToDouble(figure).toArray();
  }

  private static String remark(Step base, Step own) {
    boolean isBottlenecked = base.isBottlenecked() || own.isBottlenecked();
    long errors = base.errorCount() + own.errorCount();
    return (isBottlenecked ? "  THE GENERATOR WAS THE BOTTLENECK" : "")
        + (errors > 0 ? "  with " + errors + " errors" : "");
  }
}
