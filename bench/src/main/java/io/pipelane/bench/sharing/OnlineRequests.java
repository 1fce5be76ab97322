package io.pipelane.bench.sharing;

import io.pipelane.bench.local.Arrivals;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleFunction;

/** The online requests of a call: at which rates, for how long at each, and how they are spread. */
final class OnlineRequests {
  private final List<Double> rates;
  private final Spread spread;
  private final DoubleFunction<Duration> length;

  /** The way in which requests are spread over time. */
  enum Spread {
    /** At random and independent of each other: what has come tells nothing of what comes. */
    POISSON,
    /** At equal intervals, so that the next one can be foretold. */
    REGULAR;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * Requests that have not left.
   *
   * @param rates a second, one after another
   * @param length of a measurement, by its rate
   */
  OnlineRequests(List<Double> rates, Spread spread, DoubleFunction<Duration> length) {
    this.rates = List.copyOf(rates);
    this.spread = spread;
    this.length = length;
  }

  List<Double> rates() {
    return rates;
  }

  /** Of a measurement. */
  Duration length(double rate) {
    return length.apply(rate);
  }

  /** Of the longest measurement. */
  Duration longest() {
    return rates.stream().map(length::apply).max(Duration::compareTo).orElseThrow();
  }

  /** When those of a measurement leave; the same for the same seed. */
  List<Long> times(double rate, long seed) {
    return times(rate, length(rate), seed);
  }

  /** When requests leave at the highest rate, for so long. */
  List<Long> most(Duration during, long seed) {
    double most = rates.stream().mapToDouble(Double::doubleValue).max().orElseThrow();
    return times(most, during, seed);
  }

  private List<Long> times(double rate, Duration during, long seed) {
    return switch (spread) {
      case POISSON -> Arrivals.poisson(rate, during.toNanos(), seed);
      case REGULAR -> Arrivals.regular(rate, during.toNanos());
    };
  }

  /** What requests at a rate are called; random ones by their rate alone. */
  String name(double rate) {
    String perSecond = rate == Math.rint(rate) ? Long.toString((long) rate) : Double.toString(rate);
    return perSecond + "/s" + (spread == Spread.POISSON ? "" : " " + spread);
  }

  /** The name of a measurement. */
  String caseName(double rate, Scene scene) {
    return name(rate) + ", " + scene;
  }
}
