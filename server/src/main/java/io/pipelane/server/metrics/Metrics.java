package io.pipelane.server.metrics;

import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.server.statistics.ModelCounters;
import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * All metrics, gathered anew for each scrape from counts that exist anyway, so that serving pays
 * nothing for them. Safe for any thread; a scrape takes locks and belongs off the event loops.
 */
public final class Metrics {
  private final Supplier<List<ModelCounters>> models;
  private final Supplier<Map<String, DeviceState>> devices;
  private final Supplier<HostTier.Statistics> hostTier;
  private final Supplier<WorkersOverview> workers;
  private final Supplier<JobCounts> jobs;
  private final Supplier<PlacementCounts> placement;
  private final Supplier<HostCounts> hosts;

  /**
   * @param models what is counted of each
   * @param devices by name
   */
  public Metrics(
      Supplier<List<ModelCounters>> models,
      Supplier<Map<String, DeviceState>> devices,
      Supplier<HostTier.Statistics> hostTier,
      Supplier<WorkersOverview> workers,
      Supplier<JobCounts> jobs,
      Supplier<PlacementCounts> placement,
      Supplier<HostCounts> hosts) {
    this.models = models;
    this.devices = devices;
    this.hostTier = hostTier;
    this.workers = workers;
    this.jobs = jobs;
    this.placement = placement;
    this.hosts = hosts;
  }

  /** Writes Prometheus' text format, version 0.0.4. */
  public void write(OutputStream target) throws IOException {
    Map<String, DeviceState> states = devices.get();
    MetricSnapshot[] snapshots =
        Stream.of(
                InferenceMetrics.of(models.get(), states.values().stream().map(DeviceState::queue)),
                DeviceMetrics.of(states),
                HostTierMetrics.of(hostTier.get()),
                DeviceMetrics.workers(workers.get()),
                JobMetrics.of(jobs.get()),
                PlacementMetrics.of(placement.get()),
                HostMetrics.of(hosts.get()))
            .flatMap(families -> families.stream())
            .map(MetricFamily::snapshot)
            .toArray(MetricSnapshot[]::new);
    PrometheusTextFormatWriter.create()
        .write(target, MetricSnapshots.of(snapshots), EscapingScheme.DEFAULT);
  }
}
