package io.pipelane.server.metrics;

import io.pipelane.server.metrics.MetricFamily.Counter;
import io.pipelane.server.metrics.MetricFamily.Gauge;
import java.util.ArrayList;
import java.util.List;

/** The metrics of offline jobs' places; nothing where jobs are not placed. */
final class PlacementMetrics {
  private PlacementMetrics() {}

  static List<MetricFamily> of(PlacementCounts placement) {
    if (placement.devices().isEmpty()) {
      return List.of();
    }
    Gauge online =
        new Gauge("pipelane_online_utilization", "Share of the time that online requests compute");
    Gauge jobs = new Gauge("pipelane_placed_jobs", "Offline jobs that have the device");
    Gauge predicted =
        new Gauge(
            "pipelane_predicted_job_throughput",
            "Predicted throughput of the device's offline job, over that of its own alone");
    placement
        .devices()
        .forEach(
            (device, counts) -> {
              online.add(counts.onlineUtilization(), "device", device);
              jobs.add(counts.predicted().isPresent() ? 1 : 0, "device", device);
              counts.predicted().ifPresent(speed -> predicted.add(speed, "device", device));
            });
    List<MetricFamily> families = new ArrayList<>();
    families.add(online);
    families.add(jobs);
    families.add(predicted);
    families.add(
        new Counter("pipelane_job_matchings", "Times that offline jobs were matched to devices")
            .add(placement.matchings()));
    families.add(
        new Counter("pipelane_job_moves", "Times that an offline job changed its device")
            .add(placement.moves()));
    families.add(
        new Gauge("pipelane_speed_pairs", "Measured pairs that speeds are learnt from")
            .add(placement.pairs()));
    if (placement.error().isPresent()) {
      families.add(
          new Gauge(
                  "pipelane_speed_error",
                  "Error of the speeds learnt, on pairs kept aside; used up to 0.1")
              .add(placement.error().getAsDouble()));
    }
    return families;
  }
}
