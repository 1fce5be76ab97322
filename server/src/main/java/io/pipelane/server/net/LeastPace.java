package io.pipelane.server.net;

import java.time.Duration;

/** The pace below which a client holds memory rather than sends or takes something. */
public final class LeastPace {
  /** Slower than any link; more than who only wants to hold a connection sends or takes. */
  public static final int BYTES_PER_SECOND = 1 << 10;

  private LeastPace() {}

  /** What must pass in a time; at least one byte. */
  public static long bytesIn(Duration period) {
    return Math.max(1, BYTES_PER_SECOND * period.toMillis() / 1_000);
  }
}
