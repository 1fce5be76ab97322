package io.pipelane.switcher.sharing.gate;

/**
 * The time at which the next online request is expected, by the device's clock.
 *
 * @param untilNanos after which it is late, and not waited for
 */
public record ExpectedArrival(long fromNanos, long untilNanos) {
  /** How long work has to wait for it that begins now and would run into it; 0 for not at all. */
  long waitNanos(long workNanos, long nowNanos) {
    return fromNanos - nowNanos <= workNanos ? Math.max(0, untilNanos - nowNanos) : 0;
  }
}
