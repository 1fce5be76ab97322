package io.pipelane.loadgen.arrival;

import io.pipelane.loadgen.settings.ArrivalPattern;
import io.pipelane.loadgen.settings.LoadMode;
import java.util.random.RandomGenerator;

/** The times at which requests are meant to leave, one after another. On the run's thread. */
public interface Arrivals {
  /** No request is left. */
  long NEVER = Long.MAX_VALUE;

  /** The request does not say; somebody else chooses. */
  int ANY = -1;

  /**
   * When the next request is meant to leave, or {@link #NEVER}; it may lie in the past or the
   * future.
   *
   * @param now the present, of the same origin as the start
   */
  long peek(long now);

  /** Goes on to the request after that. */
  void take();

  /** The next request's model, or {@link #ANY}. */
  default int model() {
    return ANY;
  }

  /** Which of its model's variants the next request is, or {@link #ANY}. */
  default int variant() {
    return ANY;
  }

  /** The arrivals of a mode from a start on; the same for the same randomness. */
  static Arrivals of(LoadMode mode, long start, RandomGenerator random) {
    return switch (mode) {
      case LoadMode.Closed _ -> new OnDemand();
      case LoadMode.Open open ->
          switch (open.arrivals()) {
            case ArrivalPattern.Constant constant ->
                new EqualIntervals(start, constant.requestsPerSecond());
            case ArrivalPattern.Poisson poisson ->
                DrawnIntervals.exponential(start, poisson.requestsPerSecond(), random);
            case ArrivalPattern.Gamma gamma ->
                DrawnIntervals.gamma(start, gamma.requestsPerSecond(), gamma.variation(), random);
            case ArrivalPattern.Bursts bursts -> new BurstIntervals(start, bursts, random);
            case ArrivalPattern.Listed listed -> DrawnIntervals.listed(start, listed.intervals());
            case ArrivalPattern.Replay replay -> new ReplayedTrace(start, replay.trace());
          };
    };
  }
}
