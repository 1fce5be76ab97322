package io.pipelane.lanes.process;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * The expected time of runs of one session and of the same input shapes, by the last ones. Safe for
 * any thread.
 */
final class ExpectedTime {
  private static final int WEIGHT = 4;

  /** Nothing that gets on takes so many times as long as runs do from gate to gate. */
  private static final int PATIENCE = 100;

  /** A busy machine, or a library that is loaded, keeps a run for a while. */
  private static final Duration LEAST_PATIENCE = Duration.ofSeconds(5);

  /** A process that has not run a session loads libraries for it, and chooses among them. */
  private static final Duration LEAST_FIRST_PATIENCE = Duration.ofSeconds(10);

  private long warmNanos;
  private long coldNanos;
  private volatile long usualNanos;
  private volatile boolean seeded;

  /**
   * What the next run should take; 0 when nobody knows.
   *
   * @param cold whether weights come in meanwhile
   */
  synchronized long nanos(boolean cold) {
    return cold ? coldNanos : warmNanos;
  }

  /**
   * How long the next run may take for one of its steps before its worker hangs, by the last runs
   * or, before there was one, by {@link #seed}.
   *
   * @param cold whether weights come in meanwhile
   * @param most and as long as nothing is known
   */
  Duration patience(boolean cold, Duration most) {
    long nanos = nanos(cold);
    Duration least = nanos > 0 ? LEAST_PATIENCE : LEAST_FIRST_PATIENCE;
    Duration known = Duration.ofNanos(nanos > 0 ? nanos : usualNanos).multipliedBy(PATIENCE);
    Duration patience = known.compareTo(least) < 0 ? least : known;
    return known.isZero() || patience.compareTo(most) > 0 ? most : patience;
  }

  /**
   * Has patience go by what such runs have taken elsewhere, until one has run here.
   *
   * @param elsewhere says how long, or 0; asked once
   */
  void seed(LongSupplier elsewhere) {
    if (!seeded) {
      seeded = true;
      usualNanos = elsewhere.getAsLong();
    }
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
