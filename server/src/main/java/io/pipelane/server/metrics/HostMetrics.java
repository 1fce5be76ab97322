package io.pipelane.server.metrics;

import io.pipelane.server.metrics.MetricFamily.Counter;
import io.pipelane.server.metrics.MetricFamily.Gauge;
import java.util.List;
import java.util.TreeMap;

/** The metrics of other hosts; nothing where there can be none. */
final class HostMetrics {
  private HostMetrics() {}

  static List<MetricFamily> of(HostCounts hosts) {
    if (!hosts.among()) {
      return List.of();
    }
    Counter forwarded =
        new Counter(
            "pipelane_forwarded_requests", "Requests that another host was given, by outcome");
    new TreeMap<>(hosts.forwarded())
        .forEach(
            (host, outcomes) ->
                new TreeMap<>(outcomes)
                    .forEach(
                        (outcome, count) ->
                            forwarded.add(count, "host", host, "outcome", outcome)));
    return List.of(
        new Gauge("pipelane_hosts", "Other hosts that are known").add(hosts.known()),
        new Gauge("pipelane_suspect_hosts", "Other hosts left alone as they could not be reached")
            .add(hosts.suspect()),
        new Gauge("pipelane_host_registry_reached", "Whether etcd is in reach")
            .add(hosts.registryReached() ? 1 : 0),
        forwarded);
  }
}
