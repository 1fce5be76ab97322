package io.pipelane.switcher.residency;

import java.time.Duration;

/**
 * A counter of the uses of something, in which each use counts half as much after every half-life.
 * Not safe for several threads.
 */
public final class Usage {
  private static final double LN_2 = Math.log(2);

  /** Uses within so small a part of a half-life count as if they came together. */
  private static final double TOGETHER = 1e-5;

  private final double halfLifeNanos;
  private double count;
  private long updatedNanos;

  public Usage(Duration halfLife, long nowNanos) {
    this.halfLifeNanos = halfLife.toNanos();
    this.updatedNanos = nowNanos;
  }

  /** As if it had been used so often each second for long. */
  static Usage steady(Duration halfLife, double perSecond, long nowNanos) {
    Usage usage = new Usage(halfLife, nowNanos);
    usage.count = perSecond / 1e9 * usage.halfLifeNanos / LN_2;
    return usage;
  }

  /** Counts one use more. */
  public void used(long nowNanos) {
    used(nowNanos, 1);
  }

  /** Counts a use of so much. */
  public void used(long nowNanos, double amount) {
    if (Math.abs(nowNanos - updatedNanos) > TOGETHER * halfLifeNanos) {
      count = at(nowNanos);
      updatedNanos = nowNanos;
    }
    count += amount;
  }

  /** The decayed count: proportional to the likelihood of the next use being soon. */
  public double at(long nowNanos) {
    return count * Math.pow(0.5, (nowNanos - updatedNanos) / halfLifeNanos);
  }

  /**
   * Uses per second, lately: the count is what a steady rate comes to after some half-lives, an
   * exponentially weighted average of the rate.
   */
  public double perSecond(long nowNanos) {
    return at(nowNanos) * LN_2 / halfLifeNanos * 1e9;
  }

  /** The logarithm of the sum of two counts that are told by theirs. */
  public static double sum(double logarithm, double other) {
    double larger = Math.max(logarithm, other);
    return larger == Double.NEGATIVE_INFINITY
        ? larger
        : larger + Math.log1p(Math.exp(Math.min(logarithm, other) - larger));
  }

  /** What the logarithm of a count loses meanwhile. */
  public static double faded(Duration meanwhile, Duration halfLife) {
    return meanwhile.toNanos() / (double) halfLife.toNanos() * LN_2;
  }

  /**
   * The logarithm of the count, told for one moment for all. Counts of one half-life fade alike, so
   * this orders them at any time, and changes with a use only; less than everything before the
   * first use.
   */
  public double logarithmAt(long originNanos) {
    return Math.log(count) + (updatedNanos - originNanos) / halfLifeNanos * LN_2;
  }
}
