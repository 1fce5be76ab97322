package io.pipelane.loadgen.drive;

import io.pipelane.loadgen.settings.LoadMode;
import java.util.random.RandomGenerator;

/** The times at which requests are meant to leave, one after another, from a start. */
abstract sealed class Arrivals {
  /**
   * When the next request is meant to leave; it may lie in the past or the future.
   *
   * @param now the present, of the same origin as the start
   */
  abstract long peek(long now);

  /** Goes on to the request after that. */
  abstract void take();

  static Arrivals of(LoadMode mode, long start, RandomGenerator random) {
    return switch (mode) {
      case LoadMode.Closed _ -> new OnDemand();
      case LoadMode.Open open ->
          switch (open.distribution()) {
            case CONSTANT -> new Constant(start, open.requestsPerSecond());
            case POISSON -> new Poisson(start, open.requestsPerSecond(), random);
          };
    };
  }

  /** As soon as a connection is free. */
  private static final class OnDemand extends Arrivals {
    @Override
    long peek(long now) {
      return now;
    }

    @Override
    void take() {}
  }

  /** At equal intervals, each computed from the start so that rounding does not add up. */
  private static final class Constant extends Arrivals {
    private final long start;
    private final double intervalNanos;
    private long taken;

    Constant(long start, double perSecond) {
      this.start = start;
      this.intervalNanos = 1e9 / perSecond;
    }

    @Override
    long peek(long now) {
      return start + (long) (taken * intervalNanos);
    }

    @Override
    void take() {
      taken++;
    }
  }

  /** At exponential intervals. */
  private static final class Poisson extends Arrivals {
    private final long start;
    private final double meanNanos;
    private final RandomGenerator random;
    private double offsetNanos;

    Poisson(long start, double perSecond, RandomGenerator random) {
      this.start = start;
      this.meanNanos = 1e9 / perSecond;
      this.random = random;
      take();
    }

    @Override
    long peek(long now) {
      return start + (long) offsetNanos;
    }

    @Override
    void take() {
      offsetNanos += random.nextExponential() * meanNanos;
    }
  }
}
