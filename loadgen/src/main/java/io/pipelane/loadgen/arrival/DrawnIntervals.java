package io.pipelane.loadgen.arrival;

import java.time.Duration;
import java.util.List;
import java.util.function.DoubleSupplier;
import java.util.random.RandomGenerator;

/** Requests at intervals that are drawn one by one, at random or from a list. */
final class DrawnIntervals implements Arrivals {
  private final long start;
  private final DoubleSupplier intervalNanos;
  private double offsetNanos;

  private DrawnIntervals(long start, DoubleSupplier intervalNanos) {
    this.start = start;
    this.intervalNanos = intervalNanos;
    take();
  }

  static Arrivals exponential(long start, double perSecond, RandomGenerator random) {
    double meanNanos = 1e9 / perSecond;
    return new DrawnIntervals(start, () -> random.nextExponential() * meanNanos);
  }

  /**
   * Gamma-distributed intervals.
   *
   * @param variation standard deviation over mean; the shape is its inverse square
   */
  static Arrivals gamma(long start, double perSecond, double variation, RandomGenerator random) {
    double shape = 1 / (variation * variation);
    double scaleNanos = 1e9 / perSecond / shape;
    return new DrawnIntervals(start, () -> GammaVariate.draw(shape, random) * scaleNanos);
  }

  /** The intervals of a list, over and over. */
  static Arrivals listed(long start, List<Duration> intervals) {
    return new DrawnIntervals(start, new Cycle(intervals));
  }

  private static final class Cycle implements DoubleSupplier {
    private final List<Duration> intervals;
    private int next;

    Cycle(List<Duration> intervals) {
      this.intervals = intervals;
    }

    @Override
    public double getAsDouble() {
      Duration interval = intervals.get(next);
      next = next + 1 == intervals.size() ? 0 : next + 1;
      return interval.toNanos();
    }
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
