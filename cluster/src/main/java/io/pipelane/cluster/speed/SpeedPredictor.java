package io.pipelane.cluster.speed;

import io.pipelane.cluster.profile.WorkloadProfile;

/** A predictor of an offline workload's speed beside an online one, on one type of GPU. */
@FunctionalInterface
public interface SpeedPredictor {
  /**
   * The normalised throughput (MuxFlow §5): that of the offline workload beside the online one,
   * over its throughput alone.
   *
   * @param share of the multiprocessors that the offline workload may use, above 0, at most 1
   * @return between 0 and 1
   */
  double normalizedThroughput(WorkloadProfile online, WorkloadProfile offline, double share);
}
