package io.pipelane.loadgen.result;

import org.HdrHistogram.Histogram;

/**
 * Response times by what the server told of each answer; answers it told nothing of are missing.
 */
public record WarmthSplit(Histogram warmNanos, Histogram coldNanos) {
  /** Both together. */
  public WarmthSplit plus(WarmthSplit other) {
    return new WarmthSplit(sum(warmNanos, other.warmNanos), sum(coldNanos, other.coldNanos));
  }

  private static Histogram sum(Histogram one, Histogram other) {
    Histogram sum = one.copy();
    sum.add(other);
    return sum;
  }
}
