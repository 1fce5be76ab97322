package io.pipelane.server.metrics;

import io.pipelane.modelstore.host.HostTier;
import io.pipelane.server.metrics.MetricFamily.Counter;
import io.pipelane.server.metrics.MetricFamily.Gauge;
import java.util.List;

/** The metrics of weights in host memory, which all devices share. */
final class HostTierMetrics {
  private HostTierMetrics() {}

  static List<MetricFamily> of(HostTier.Statistics tier) {
    return List.of(
        new Gauge("pipelane_host_tier_bytes", "Host memory for weights, by kind")
            .add(tier.heldBytes(), "kind", "weights")
            .add(tier.inPlaceBytes(), "kind", "in-place")
            .add(tier.spareBytes(), "kind", "spare"),
        new Counter("pipelane_host_tier_leases", "Transfers of weights, by where these were")
            .add(tier.hits(), "found", "memory")
            .add(tier.misses(), "found", "mapped")
            .add(tier.direct(), "found", "disk"),
        new Counter(
                "pipelane_host_tier_files_ahead",
                "Weights files of which some was read from disk before anybody asked")
            .add(tier.filesAhead()),
        new Counter("pipelane_host_tier_bytes_ahead", "What was read of them")
            .add(tier.bytesAhead()));
  }
}
