package io.pipelane.loadgen.arrival;

import io.pipelane.loadgen.settings.ArrivalPattern.Bursts;
import java.util.random.RandomGenerator;

/** Poisson arrivals on a clock that runs only within bursts. */
final class BurstIntervals implements Arrivals {
  private final long start;
  private final double onNanos;
  private final double cycleNanos;
  private final double meanNanos;
  private final RandomGenerator random;
  private double burstNanos;

  BurstIntervals(long start, Bursts bursts, RandomGenerator random) {
    this.start = start;
    this.onNanos = bursts.on().toNanos();
    this.cycleNanos = onNanos + bursts.off().toNanos();
    this.meanNanos = 1e9 / bursts.requestsPerSecondWithin();
    this.random = random;
    take();
  }

  @Override
  public long peek(long now) {
    double burst = Math.floor(burstNanos / onNanos);
    return start + (long) (burst * cycleNanos + burstNanos - burst * onNanos);
  }

  @Override
  public void take() {
    burstNanos += random.nextExponential() * meanNanos;
  }
}
