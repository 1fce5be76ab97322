package io.pipelane.cluster.profile;

/**
 * The profile of a workload on a device that it has for itself (MuxFlow §5). Shares are of 1.
 *
 * @param utilization of the time, that in which something ran
 * @param activity of the multiprocessors, those that were busy, over the same time
 * @param occupancy of the threads that the busy multiprocessors can hold, those that they held
 * @param separateMillis what a request or an iteration takes
 */
public record WorkloadProfile(
    double utilization, double activity, double occupancy, double separateMillis) {
  public WorkloadProfile {
    checkShare("utilization", utilization);
    checkShare("activity", activity);
    checkShare("occupancy", occupancy);
    if (!(separateMillis > 0 && separateMillis < 1e9)) {
      throw new IllegalArgumentException(
          "separate time is %s ms; it must be above 0 and below 1e9".formatted(separateMillis));
    }
  }

  private static void checkShare(String what, double share) {
    if (!(share >= 0 && share <= 1)) {
      throw new IllegalArgumentException(
          "%s is %s; it must be between 0 and 1".formatted(what, share));
    }
  }
}
