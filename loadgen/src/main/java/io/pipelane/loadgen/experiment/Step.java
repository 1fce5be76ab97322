package io.pipelane.loadgen.experiment;

import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.settings.LoadMode;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.HdrHistogram.Histogram;

/** One load and its runs, at least one. */
public record Step(LoadMode mode, List<MeasuredRun> runs) {
  public Step {
    runs = List.copyOf(runs);
  }

  /** Good answers per second. */
  public Estimate answersPerSecond() {
    return estimate(report -> report.total().perSecond());
  }

  /** Response time at a percentile, in nanoseconds; see {@link #latency}. */
  public Estimate responseNanos(double percentile) {
    return latency(nanos -> nanos.getValueAtPercentile(percentile));
  }

  /** A figure of the response times, over the runs that had answers; of none it is no number. */
  public Estimate latency(ToDoubleFunction<Histogram> figure) {
    return Estimate.of(
        runs.stream()
            .map(run -> run.report().total().responseNanos())
            .filter(nanos -> nanos.getTotalCount() > 0)
            .mapToDouble(figure)
            .toArray());
  }

  /** Any figure of the reports over all runs. */
  public Estimate estimate(ToDoubleFunction<LoadReport> figure) {
    return Estimate.of(
        runs.stream().mapToDouble(run -> figure.applyAsDouble(run.report())).toArray());
  }

  /** Errors of all runs. */
  public long errorCount() {
    return runs.stream().mapToLong(run -> run.report().total().errorCount()).sum();
  }

  /** Whether every run had an answer or an error to be judged by. */
  public boolean isMeasured() {
    return runs.stream().allMatch(run -> run.report().isMeasured());
  }

  /** Whether every run was clean, see {@link LoadReport#isClean}. */
  public boolean isClean() {
    return runs.stream().allMatch(run -> run.report().isClean());
  }

  /** Whether every run has settled. */
  public boolean isStable() {
    return runs.stream().allMatch(run -> run.report().isStable());
  }

  /** Whether the generator was the bottleneck of a run. */
  public boolean isBottlenecked() {
    return runs.stream().anyMatch(run -> !run.report().bottlenecks().isEmpty());
  }
}
