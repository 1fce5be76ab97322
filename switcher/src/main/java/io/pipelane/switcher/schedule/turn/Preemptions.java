package io.pipelane.switcher.schedule.turn;

/**
 * The figures of interrupted runs since the start.
 *
 * @param runs times that a run gave way to a request at a gate
 * @param requests requests that ran before a run that had begun earlier
 * @param waitNanos from their submission to where they began on the device, all together
 * @param longestWaitNanos the longest of these times
 * @param madeWay online runs that ended to begin anew, as one that goes before them needed their
 *     memory
 */
public record Preemptions(
    long runs, long requests, long waitNanos, long longestWaitNanos, long madeWay) {
  static final Preemptions NONE = new Preemptions(0, 0, 0, 0, 0);

  Preemptions withRun() {
    return new Preemptions(runs + 1, requests, waitNanos, longestWaitNanos, madeWay);
  }

  Preemptions withRequest(long nanos) {
    return new Preemptions(
        runs, requests + 1, waitNanos + nanos, Math.max(longestWaitNanos, nanos), madeWay);
  }

  Preemptions withMadeWay() {
    return new Preemptions(runs, requests, waitNanos, longestWaitNanos, madeWay + 1);
  }
}
