package io.pipelane.cluster.simulator;

import java.util.SplittableRandom;
import org.HdrHistogram.Histogram;

/** Latencies of online requests, added up minute by minute. */
final class OnlineLatencies {
  private static final double MICROS_PER_MILLI = 1e3;
  private static final long MOST_MICROS = 3_600_000_000L;
  private static final int DRAWN = 2;

  private final Histogram histogram = new Histogram(MOST_MICROS, 2);
  private final SplittableRandom random;
  private double requests;
  private double millis;

  OnlineLatencies(long seed) {
    this.random = new SplittableRandom(seed);
  }

  /** Adds a minute of a device; of its requests, two stand for all in the distribution. */
  void add(OnlineService service, double rate, Effect effect, RequestWaits waits) {
    double run = effect.requestMillis();
    requests += rate;
    millis += rate * (service.hostMillis() + run * (1 + waits.mean()));
    for (int i = 0; i < DRAWN; i++) {
      double latency = service.hostMillis() + run * (1 + waits.draw(random));
      histogram.recordValueWithCount(
          Math.clamp(Math.round(latency * MICROS_PER_MILLI), 1, MOST_MICROS), Math.round(rate));
    }
  }

  double meanMillis() {
    return millis / requests;
  }

  double p99Millis() {
    return histogram.getValueAtPercentile(99) / MICROS_PER_MILLI;
  }
}
