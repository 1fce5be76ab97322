package io.pipelane.switcher.jobs;

/**
 * The record of a job that has ended.
 *
 * @param startedNanos when it ran first
 * @param endedNanos when its last iteration ended
 * @param loads how often its persistent memory came to the device
 */
public record JobRecord(SimulatedJob job, long startedNanos, long endedNanos, int loads) {
  /** How long it waited for its first run. */
  public long queuedNanos() {
    return startedNanos - job.arrivalNanos();
  }

  /** From its coming to its end. */
  public long completionNanos() {
    return endedNanos - job.arrivalNanos();
  }
}
