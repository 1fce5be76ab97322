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
import java.util.Optional;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** The table of every server's figures as multiples of the first one's. */
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
    if (experiments.getFirst().steps().isEmpty()) {
      out.println("\n  it was not measured: there is nothing to compare with");
    }
    for (Step base : experiments.getFirst().steps()) {
      out.printf("%n%s%n", base.mode().description());
      for (int server = 1; server < experiments.size(); server++) {
        Optional<Step> own = ofSameLoad(experiments.get(server), base);
        out.printf("  %s%s%n", names.get(server), own.map(step -> remark(base, step)).orElse(""));
        own.ifPresentOrElse(
            step -> lines(out, rounds(step, base), rounds(base, step), objective),
            () -> out.println("    not measured"));
      }
    }
    out.flush();
  }

  private static Optional<Step> ofSameLoad(Experiment experiment, Step base) {
    return experiment.steps().stream().filter(step -> step.mode().equals(base.mode())).findFirst();
  }

  /** The rounds that another server has measured as well. */
  private static List<LoadReport> rounds(Step step, Step other) {
    Set<Long> seeds = other.runs().stream().map(MeasuredRun::seed).collect(Collectors.toSet());
    return step.runs().stream()
        .filter(run -> seeds.contains(run.seed()))
        .map(MeasuredRun::report)
        .toList();
  }

  private static void lines(
      PrintWriter out, List<LoadReport> own, List<LoadReport> base, @Nullable Duration objective) {
    if (own.isEmpty()) {
      out.println("    measured in no round in common");
      return;
    }
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
          latency(nanos -> nanos.getValueAtPercentile(percentile)));
    }
    line(out, "mean", own, base, latency(Histogram::getMean));
  }

  /** A figure of the response times; none of a round without answers. */
  private static ToDoubleFunction<LoadReport> latency(ToDoubleFunction<Histogram> figure) {
    return report -> {
      Histogram nanos = report.total().responseNanos();
      return nanos.getTotalCount() == 0 ? Double.NaN : figure.applyAsDouble(nanos);
    };
  }

  private static void line(
      PrintWriter out,
      String name,
      List<LoadReport> own,
      List<LoadReport> base,
      ToDoubleFunction<LoadReport> figure) {
    Ratio ratio = Ratio.of(figures(own, figure), figures(base, figure));
    if (!Double.isFinite(ratio.mean())) {
      out.printf("    %-10s       -     nothing to compare in some round%n", name);
      return;
    }
    String interval =
        own.size() < FEWEST_ROUNDS
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

  private static double[] figures(List<LoadReport> rounds, ToDoubleFunction<LoadReport> figure) {
    return rounds.stream().mapToDouble(figure).toArray();
  }

  private static String remark(Step base, Step own) {
    String lost = own.runs().size() == base.runs().size() ? "" : "  NOT EVERY ROUND";
    boolean isBottlenecked = base.isBottlenecked() || own.isBottlenecked();
    long errors = base.errorCount() + own.errorCount();
    return lost
        + (isBottlenecked ? "  THE GENERATOR WAS THE BOTTLENECK" : "")
        + (errors > 0 ? "  with " + errors + " errors" : "");
  }
}
