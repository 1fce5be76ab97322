package io.pipelane.server.placement;

import io.pipelane.cluster.profile.WorkloadProfile;

/**
 * The throughput that gates leave to an offline job: the time in which nothing online runs, but for
 * a little. It needs no profile of the job and no measured pairs.
 */
final class GateRule {
  /** Roughly so much of the idle time; docs/results/sharing.md has what was measured. */
  private static final double LEFT = 0.96;

  private GateRule() {}

  /** A job's throughput beside online work, over that of its own alone; the same for any job. */
  static double throughput(WorkloadProfile online) {
    return LEFT * (1 - online.utilization());
  }
}
