package io.pipelane.lanes.cpu;

import io.pipelane.config.value.Bandwidth;
import java.util.function.BooleanSupplier;

/**
 * A throttle that makes copies take as long as they would over a slower link. Belongs to the copy
 * engine's thread.
 *
 * <p>The link is modelled in its own time. A copy begins when the one before it has ended or when
 * it was enqueued, whichever is later, and ends {@code bytes / bandwidth} after that. Waits that
 * overshoot are made good by the copies behind, so the rate holds over many small copies. No more
 * than a millisecond is made good, lest a slow disk be followed by a burst above the link's rate.
 */
final class LinkThrottle {
  /** Waits are slept through but for this last part, which is shorter than sleep is exact. */
  static final long SPIN_NANOS = 70_000;

  static final long CATCH_UP_NANOS = 1_000_000;

  private final LinkClock clock;
  private final double nanosPerByte;
  private long freeAtNanos;

  LinkThrottle(Bandwidth bandwidth, LinkClock clock) {
    this.clock = clock;
    this.nanosPerByte = bandwidth.limit().map(limit -> 1e9 / limit).orElse(0.0);
    this.freeAtNanos = clock.nanoTime();
  }

  /** Whether the link has a rate. */
  boolean isLimited() {
    return nanosPerByte > 0;
  }

  /** The time to note when a copy is enqueued; safe for any thread. */
  long nanoTime() {
    return clock.nanoTime();
  }

  /**
   * Waits until the link would have carried a copy whose bytes are in place.
   *
   * @param cancelled looked at between waits; ends them
   */
  void pace(long enqueuedAtNanos, long bytes, BooleanSupplier cancelled) {
    if (nanosPerByte == 0) {
      return;
    }
    long begin = later(freeAtNanos, enqueuedAtNanos);
    long end = begin + (long) Math.min(bytes * nanosPerByte, Long.MAX_VALUE / 4.0);
    long left = end - clock.nanoTime();
    while (left > 0 && !cancelled.getAsBoolean()) {
      if (left > SPIN_NANOS) {
        clock.parkNanos(left - SPIN_NANOS);
      } else {
        Thread.onSpinWait();
      }
      left = end - clock.nanoTime();
    }
    freeAtNanos = later(end, clock.nanoTime() - CATCH_UP_NANOS);
  }

  private static long later(long nanos, long others) {
    return nanos - others > 0 ? nanos : others;
  }
}
