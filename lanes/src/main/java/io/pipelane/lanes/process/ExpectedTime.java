package io.pipelane.lanes.process;

/** How long runs of one session take, by the last ones. Safe for any thread. */
final class ExpectedTime {
  private static final int WEIGHT = 4;

  private long warmNanos;
  private long coldNanos;

  /**
   * What the next run should take; 0 when nobody knows.
   *
   * @param cold whether weights come in meanwhile
   */
  synchronized long nanos(boolean cold) {
    return cold ? coldNanos : warmNanos;
  }

  /** A run has taken so long. */
  synchronized void took(boolean cold, long nanos) {
    if (cold) {
      coldNanos = moved(coldNanos, nanos);
    } else {
      warmNanos = moved(warmNanos, nanos);
    }
  }

  private static long moved(long mean, long nanos) {
    return mean == 0 ? nanos : mean + (nanos - mean) / WEIGHT;
  }
}
