package io.pipelane.bench.local;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Times at which requests leave, random and independent of each other (Poisson). */
public final class Arrivals {
  private Arrivals() {}

  /** Nanoseconds from the beginning, ascending; the same for the same seed. */
  public static List<Long> poisson(double perSecond, long lengthNanos, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<Long> times = new ArrayList<>();
    double at = 0;
    while (true) {
      at += -Math.log(1 - random.nextDouble()) / perSecond * 1e9;
      if (at > lengthNanos) {
        return times;
      }
      times.add((long) at);
    }
  }

  /**
   * The same at a rate that changes from step to step.
   *
   * @param rates a second, step by step
   */
  public static List<Long> poisson(double[] rates, long stepNanos, long seed) {
    SplittableRandom seeds = new SplittableRandom(seed);
    List<Long> times = new ArrayList<>();
    for (int step = 0; step < rates.length; step++) {
      long begin = step * stepNanos;
      poisson(rates[step], stepNanos, seeds.nextLong()).forEach(time -> times.add(begin + time));
    }
    return times;
  }
}
