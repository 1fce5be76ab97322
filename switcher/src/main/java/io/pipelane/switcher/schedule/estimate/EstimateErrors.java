package io.pipelane.switcher.schedule.estimate;

import java.util.Arrays;

/** The errors of recent estimates against what came. Safe for any thread. */
final class EstimateErrors {
  private static final int REMEMBERED = 1024;

  private final double[] errors = new double[REMEMBERED];
  private int observed;

  /** Notes an estimate that could be compared: both are above zero. */
  synchronized void observed(long estimatedNanos, long actualNanos) {
    errors[observed % REMEMBERED] = Math.abs(estimatedNanos - actualNanos) / (double) actualNanos;
    observed = observed == 2 * REMEMBERED - 1 ? REMEMBERED : observed + 1;
  }

  /** The median of |estimate - actual| / actual; 0 before the first. */
  synchronized double median() {
    int count = Math.min(observed, REMEMBERED);
    double[] sorted = Arrays.copyOf(errors, count);
    Arrays.sort(sorted);
    return count == 0 ? 0 : sorted[count / 2];
  }
}
