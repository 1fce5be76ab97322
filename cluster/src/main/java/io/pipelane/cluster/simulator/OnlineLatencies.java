package io.pipelane.cluster.simulator;

import java.util.SplittableRandom;
import org.HdrHistogram.Histogram;

/** Latencies of online requests, added up minute by minute. */
final class OnlineLatencies {
  private static final double MICROS_PER_MILLI = 1e3;
  private static final long MOST_MICROS = 3_600_000_000L;

  /** Of a minute of all devices together, at least. */
  private static final int LEAST_DRAWN = 500;

  /** Of a minute of a device, at least. */
  private static final int LEAST_OF_A_DEVICE = 2;

  private final Histogram histogram = new Histogram(MOST_MICROS, 2);
  private final SplittableRandom random;
  private final int drawn;
  private double requests;
  private double millis;

  OnlineLatencies(int devices, long seed) {
    this.random = new SplittableRandom(seed);
    this.drawn = Math.max(LEAST_OF_A_DEVICE, LEAST_DRAWN / devices);
  }

  /** Adds a minute of a device; of its requests, a few stand for all in the distribution. */
  void add(OnlineService service, double rate, Effect effect, RequestWaits waits) {
    double run = effect.requestMillis();
    requests += rate;
    millis += rate * (service.hostMillis() + run * (1 + waits.mean()));
    for (int i = 0; i < drawn; i++) {
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
