package io.pipelane.server.metrics;

import io.pipelane.server.metrics.MetricFamily.Gauge;
import java.util.List;
import java.util.TreeMap;

/** The metrics of jobs that are remembered. */
final class JobMetrics {
  private JobMetrics() {}

  static List<MetricFamily> of(JobCounts jobs) {
    Gauge states = new Gauge("pipelane_jobs", "Jobs, by state");
    new TreeMap<>(jobs.states()).forEach((state, count) -> states.add(count, "state", state));
    return List.of(
        states,
        new Gauge("pipelane_job_rows", "Items that have their row").add(jobs.rows()),
        new Gauge("pipelane_job_failed_rows", "Items whose row is an error").add(jobs.failed()));
  }
}
