package io.pipelane.lanes.cuda.execution;

import java.util.Arrays;

/** Device times of the recent runs that waited for no weights. Belongs to its lane's thread. */
final class RunTimes {
  private static final int KEPT = 15;

  /** One run in so many is measured by segment. */
  private static final int MEASURED_EVERY = 32;

  private final long[] nanos = new long[KEPT];
  private int count;

  void add(long deviceNanos) {
    nanos[count++ % KEPT] = deviceNanos;
  }

  /**
   * Whether it is time to measure a run's segments: never the first, which is unlike the others.
   */
  boolean areSegmentsDue() {
    return count % MEASURED_EVERY == 1;
  }

  /** The median; 0 as long as there is none. */
  long median() {
    int known = Math.min(count, KEPT);
    if (known == 0) {
      return 0;
    }
    long[] sorted = Arrays.copyOf(nanos, known);
    Arrays.sort(sorted);
    return sorted[known / 2];
  }

  /** How much longer a run took that had to wait; 0 as long as nothing is known. */
  long stall(long deviceNanos) {
    long median = median();
    return median == 0 ? 0 : Math.max(0, deviceNanos - median);
  }
}
