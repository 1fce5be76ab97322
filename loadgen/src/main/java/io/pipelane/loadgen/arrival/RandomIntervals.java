package io.pipelane.loadgen.arrival;

import java.util.function.DoubleSupplier;
import java.util.random.RandomGenerator;

/** Requests at intervals that are drawn one by one. */
final class RandomIntervals implements Arrivals {
  private final long start;
  private final DoubleSupplier intervalNanos;
  private double offsetNanos;

  private RandomIntervals(long start, DoubleSupplier intervalNanos) {
    this.start = start;
    this.intervalNanos = intervalNanos;
    take();
  }

  static Arrivals exponential(long start, double perSecond, RandomGenerator random) {
    double meanNanos = 1e9 / perSecond;
    return new RandomIntervals(start, () -> random.nextExponential() * meanNanos);
  }

  /**
   * Gamma-distributed intervals.
   *
   * @param variation standard deviation over mean; the shape is its inverse square
   */
  static Arrivals gamma(long start, double perSecond, double variation, RandomGenerator random) {
    double shape = 1 / (variation * variation);
    double scaleNanos = 1e9 / perSecond / shape;
    return new RandomIntervals(start, () -> GammaVariate.draw(shape, random) * scaleNanos);
  }

  @Override
  public long peek(long now) {
    return start + (long) offsetNanos;
  }

  @Override
  public void take() {
    offsetNanos += intervalNanos.getAsDouble();
  }
}
