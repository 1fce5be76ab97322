package io.pipelane.switcher.schedule;

/**
 * What interrupting runs has come to since the start.
 *
 * @param runs times that a run gave way to a request at a gate
 * @param requests requests that ran before a run that had begun earlier
 * @param waitNanos from their submission to their first segment, all together
 * @param longestWaitNanos the longest of these times
 */
public record Preemptions(long runs, long requests, long waitNanos, long longestWaitNanos) {
  static final Preemptions NONE = new Preemptions(0, 0, 0, 0);

  Preemptions withRun() {
    return new Preemptions(runs + 1, requests, waitNanos, longestWaitNanos);
  }

  Preemptions withRequest(long nanos) {
    return new Preemptions(
        runs, requests + 1, waitNanos + nanos, Math.max(longestWaitNanos, nanos));
  }
}
