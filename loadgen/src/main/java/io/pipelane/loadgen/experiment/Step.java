package io.pipelane.loadgen.experiment;

import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.settings.LoadMode;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** One load and its runs, at least one. */
public record Step(LoadMode mode, List<MeasuredRun> runs) {
  public Step {
    runs = List.copyOf(runs);
  }

  /** Good answers per second. */
  public Estimate answersPerSecond() {
    return estimate(report -> report.total().perSecond());
  }

  /** Response time at a percentile, in nanoseconds. */
  public Estimate responseNanos(double percentile) {
    return estimate(report -> report.total().responseNanos().getValueAtPercentile(percentile));
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

  /** Whether every run has settled. */
  public boolean isStable() {
    return runs.stream().allMatch(run -> run.report().isStable());
  }

  /** Whether the generator was the bottleneck of a run. */
  public boolean isBottlenecked() {
    return runs.stream().anyMatch(run -> !run.report().bottlenecks().isEmpty());
  }
}
