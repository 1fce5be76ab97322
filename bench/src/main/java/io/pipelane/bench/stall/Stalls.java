package io.pipelane.bench.stall;

import java.util.Collections;
import java.util.List;

/**
 * Stalls of a server, and the latency that they cause.
 *
 * @param nanos how long each of them was
 * @param periodNanos from the beginning of one to that of the next
 */
record Stalls(List<Long> nanos, long periodNanos) {
  private static final int HALVINGS = 60;

  Stalls {
    nanos = List.copyOf(nanos);
  }

  /** Stalls that all last the same. */
  static Stalls equal(int count, long nanos, long periodNanos) {
    return new Stalls(Collections.nCopies(count, nanos), periodNanos);
  }

  /**
   * The latency at a percentile, in nanoseconds, of requests that come at equal intervals and are
   * answered at once but for the stalls: a share of the sum of all {@code (stall - t)}, over all
   * the time, takes longer than t.
   */
  double latency(double percentile) {
    double slower = (1 - percentile / 100) * nanos.size() * periodNanos;
    double low = 0;
    double high = nanos.stream().mapToLong(n -> n).max().orElse(0);
    for (int i = 0; i < HALVINGS; i++) {
      double middle = (low + high) / 2;
      double longer = nanos.stream().mapToDouble(n -> Math.max(0, n - middle)).sum();
      if (longer > slower) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return high;
  }
}
