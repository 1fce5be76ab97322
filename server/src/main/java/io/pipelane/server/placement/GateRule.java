package io.pipelane.server.placement;

import io.pipelane.cluster.profile.WorkloadProfile;
import io.pipelane.cluster.speed.SpeedPredictor;

/**
 * What gates leave to offline work: the time in which nothing online runs, but for a little. It
 * needs no profile of the job and no measured pairs.
 */
record GateRule() implements SpeedPredictor {
  /** Of the idle time, as measured (docs/results/sharing.md). */
  private static final double LEFT = 0.96;

  @Override
  public double normalizedThroughput(
      WorkloadProfile online, WorkloadProfile offline, double share) {
    return throughput(online);
  }

  /** The same for any job. */
  static double throughput(WorkloadProfile online) {
    return LEFT * (1 - online.utilization());
  }
}
