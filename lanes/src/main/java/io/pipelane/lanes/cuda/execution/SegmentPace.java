package io.pipelane.lanes.cuda.execution;

import java.util.function.IntPredicate;
import java.util.function.LongSupplier;

/**
 * The pacing of a run whose segments are enqueued one by one. It waits until a segment is over, or
 * about to be where it is known what it takes. So the device has the next one in time and no gap.
 * Belongs to its lane's thread.
 */
final class SegmentPace {
  /*
   * A segment begins when it is enqueued, or when the one in front of it ends, if that is later.
   * Where it was enqueued before that end, the end in front is waited for first, and the segment's
   * time is counted from there. So never more than two segments are enqueued, of which the first
   * ends within the lead. A run that stands at a gate finds the segment in front of it over when it
   * goes on.
   */
  /** What it takes to see that a segment is over and to enqueue the next, and a little more. */
  static final long LEAD_NANOS = 20_000;

  /** What a segment is thought to take follows what it takes: slowly upwards, and soon down. */
  private static final int UPWARDS = 8;

  private static final int DOWNWARDS = 2;

  private final IntPredicate isOver;
  private final LongSupplier nanoClock;
  private final long[] usualNanos;
  private long beganNanos;
  private boolean isEarly;
  private boolean waits;

  /**
   * Knows no times yet.
   *
   * @param isOver whether the work in front of a mark is over; may be asked without end
   */
  SegmentPace(int segments, IntPredicate isOver, LongSupplier nanoClock) {
    this.usualNanos = new long[segments];
    this.isOver = isOver;
    this.nanoClock = nanoClock;
  }

  /** A run's first segment is about to be enqueued. */
  void begin() {
    isEarly = false;
    waits = false;
    beganNanos = nanoClock.getAsLong();
  }

  /** The segment that is about to be enqueued waits for its weights, nobody knows how long. */
  void waits() {
    waits = true;
  }

  /**
   * Blocks until a segment is over or about to be.
   *
   * @param mark behind it; the one before is behind the segment in front of it
   * @return false when that has taken too long
   */
  boolean await(int segment, int mark, long limitNanos) {
    long limit = nanoClock.getAsLong() + limitNanos;
    if (isEarly) {
      if (!awaitOver(mark - 1, limit)) {
        return false;
      }
      long now = nanoClock.getAsLong();
      took(segment - 1, now - beganNanos);
      beganNanos = now;
    }
    long usual = usualNanos[segment];
    boolean known = usual > LEAD_NANOS && !waits;
    long lead = known ? beganNanos + usual - LEAD_NANOS : limit;
    isEarly = !awaitOver(mark, Math.min(lead, limit));
    if (!isEarly && !waits) {
      took(segment, nanoClock.getAsLong() - beganNanos);
    }
    waits = false;
    return !isEarly || lead < limit;
  }

  /** The next segment is about to be enqueued; the run may have stood at its gate. */
  void next(int mark) {
    if (!isEarly || isOver.test(mark)) {
      begin();
    }
  }

  private boolean awaitOver(int mark, long untilNanos) {
    while (!isOver.test(mark)) {
      if (nanoClock.getAsLong() - untilNanos >= 0) {
        return false;
      }
      Thread.onSpinWait();
    }
    return true;
  }

  /** One that waited for the driver, say, is no reason to wait as long again. */
  private void took(int segment, long nanos) {
    long usual = usualNanos[segment];
    long change = Math.min(nanos, 2 * usual) - usual;
    usualNanos[segment] = usual == 0 ? nanos : usual + change / (change > 0 ? UPWARDS : DOWNWARDS);
  }
}
