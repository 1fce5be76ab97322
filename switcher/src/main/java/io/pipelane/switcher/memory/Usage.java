package io.pipelane.switcher.memory;

import java.time.Duration;

/**
 * How often something is used: a count of uses in which each counts half as much after every
 * half-life. Not safe for several threads.
 */
public final class Usage {
  private final double halfLifeNanos;
  private double count;
  private long updatedNanos;

  public Usage(Duration halfLife, long nowNanos) {
    this.halfLifeNanos = halfLife.toNanos();
    this.updatedNanos = nowNanos;
  }

  /** Counts one use more. */
  public void used(long nowNanos) {
    count = at(nowNanos) + 1;
    updatedNanos = nowNanos;
  }

  /** The decayed count: proportional to the likelihood of the next use being soon. */
  public double at(long nowNanos) {
    return count * Math.pow(0.5, (nowNanos - updatedNanos) / halfLifeNanos);
  }
}
