package io.pipelane.bench.local;

import io.pipelane.loadgen.settings.ArrivalPattern;
import io.pipelane.loadgen.settings.LoadMode;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Times at which requests leave. */
public final class Arrivals {
  private Arrivals() {}

  /**
   * Random times, independent of each other (Poisson): nanoseconds from the beginning, ascending;
   * the same for the same seed.
   */
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
   * Random times at a rate that changes from step to step.
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

  /** Times at equal intervals, as the load generator has them, the first at the beginning. */
  public static List<Long> regular(double perSecond, long lengthNanos) {
    LoadMode mode = new LoadMode.Open(new ArrivalPattern.Constant(perSecond), 1);
    io.pipelane.loadgen.arrival.Arrivals each =
        io.pipelane.loadgen.arrival.Arrivals.of(mode, 0, new SplittableRandom(0));
    List<Long> times = new ArrayList<>();
    for (long at = each.peek(0); at <= lengthNanos; at = each.peek(0)) {
      times.add(at);
      each.take();
    }
    return times;
  }
}
