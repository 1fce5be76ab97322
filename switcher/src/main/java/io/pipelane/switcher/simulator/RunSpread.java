package io.pipelane.switcher.simulator;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * How runs that wait for nothing spread about their median, as was measured. A run of a simulation
 * takes one of the measured ones for its own, always the same.
 */
public final class RunSpread {
  /** All runs take the same time. */
  public static final RunSpread NONE = new RunSpread(new long[] {0});

  private final long[] beyondMedian;

  /**
   * A spread.
   *
   * @param runNanos times of runs with one median; at least one
   */
  public RunSpread(long[] runNanos) {
    long[] sorted = runNanos.clone();
    Arrays.sort(sorted);
    long median = sorted[sorted.length / 2];
    this.beyondMedian = Arrays.stream(sorted).map(nanos -> nanos - median).toArray();
  }

  /** What a request's run takes beyond the median, or less than it. */
  long nanos(int request) {
    return beyondMedian[new SplittableRandom(request).nextInt(beyondMedian.length)];
  }
}
