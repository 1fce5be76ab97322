package io.pipelane.cluster.simulator;

import java.util.List;

/**
 * The offline jobs of a virtual cluster, by number and length.
 *
 * @param meanHours that a job takes on a device of its own
 */
public record VirtualCluster(String name, int jobs, double meanHours) {
  /**
   * MuxFlow's A to D (§7.1): the numbers of jobs of A and D are the paper's, those between and all
   * lengths are assumed, such that a day's devices can do them.
   */
  public static final List<VirtualCluster> ALL =
      List.of(
          new VirtualCluster("A", 1_410, 3.0),
          new VirtualCluster("B", 2_713, 2.5),
          new VirtualCluster("C", 4_622, 2.2),
          new VirtualCluster("D", 7_287, 1.8));

  public VirtualCluster {
    if (jobs < 1 || jobs > 100_000 || !(meanHours > 0 && meanHours <= 1_000)) {
      throw new IllegalArgumentException(
          "virtual cluster %s has %d jobs (1 to 100000) of %s hours (above 0, at most 1000)"
              .formatted(name, jobs, meanHours));
    }
  }

  /** The same load on another number of devices than the paper's thousand. */
  public VirtualCluster scaledTo(int devices) {
    return new VirtualCluster(name, Math.max(1, Math.round(jobs * devices / 1e3f)), meanHours);
  }
}
