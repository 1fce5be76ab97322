package io.pipelane.server.metrics;

import java.util.Map;

/**
 * The counts of other hosts as the metrics tell them.
 *
 * @param among whether this host is one of several
 * @param registryReached whether it can tell others of itself, and hear of them
 * @param known other hosts
 * @param suspect those of them that could not be reached, and are left alone for a while
 * @param forwarded requests that other hosts were given and that have ended, by host, then outcome
 */
public record HostCounts(
    boolean among,
    boolean registryReached,
    int known,
    int suspect,
    Map<String, Map<String, Long>> forwarded) {
  /** Of a host that is alone. */
  public static final HostCounts ALONE = new HostCounts(false, false, 0, 0, Map.of());

  public HostCounts {
    forwarded = Map.copyOf(forwarded);
  }
}
