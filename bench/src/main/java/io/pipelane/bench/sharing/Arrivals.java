package io.pipelane.bench.sharing;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Times at which requests leave, random and independent of each other (Poisson). */
final class Arrivals {
  private Arrivals() {}

  /** Nanoseconds from the beginning, ascending; the same for the same seed. */
  static List<Long> poisson(double perSecond, long lengthNanos, long seed) {
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
}
