package io.pipelane.lanes.cuda.execution;

import java.util.Arrays;

/**
 * Device times of the recent runs that waited for no weights. The first run is left out: in it
 * libraries load code and try algorithms out, so that it may take a hundred times as long as the
 * others. Belongs to its lane's thread.
 */
final class RunTimes {
  private static final int KEPT = 15;

  /** One run in so many is measured by segment; no number that cold and warm runs take turns by. */
  private static final int MEASURED_EVERY = 31;

  private final long[] nanos = new long[KEPT];
  private int count;
  private int restBeforeMeasured;

  void add(long deviceNanos) {
    if (count > 0) {
      nanos[(count - 1) % KEPT] = deviceNanos;
    }
    count++;
  }

  /**
   * Whether to measure the segments of the run that begins now: never of the first, then of each
   * until one has waited for no weights. Later one in so many is measured, whether it will wait or
   * not: the marks between segments cost a run whose weights are on their way some 9 us each.
   */
  boolean areSegmentsDue() {
    if (count == 0 || restBeforeMeasured > 0) {
      restBeforeMeasured = Math.max(0, restBeforeMeasured - 1);
      return false;
    }
    restBeforeMeasured = count == 1 ? 0 : MEASURED_EVERY - 1;
    return true;
  }

  /** The median; 0 as long as there is none. */
  long median() {
    long[] sorted = known();
    Arrays.sort(sorted);
    return sorted.length == 0 ? 0 : sorted[sorted.length / 2];
  }

  /** The shortest, before whose end nobody need look; 0 as long as there is none. */
  long shortest() {
    return Arrays.stream(known()).min().orElse(0);
  }

  private long[] known() {
    return Arrays.copyOf(nanos, Math.clamp(count - 1L, 0, KEPT));
  }

  /** How much longer a run took that had to wait; 0 as long as nothing is known. */
  long stall(long deviceNanos) {
    long median = median();
    return median == 0 ? 0 : Math.max(0, deviceNanos - median);
  }
}
