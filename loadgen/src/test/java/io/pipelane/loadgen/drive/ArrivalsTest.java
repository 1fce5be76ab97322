package io.pipelane.loadgen.drive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.LoadMode.Distribution;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class ArrivalsTest {
  private static final long START = -1_000;

  @Test
  void constant_millionRequests_noDrift() {
    Arrivals arrivals = arrivals(new LoadMode.Open(3, Distribution.CONSTANT, 1), 1);
    for (int i = 0; i < 3_000_000; i++) {
      arrivals.take();
    }

    assertTrue(Math.abs(START + 1_000_000L * 1_000_000_000L - arrivals.peek(0)) <= 1);
  }

  @Test
  void poisson_manyRequests_meanAndSpreadOfAnExponential() {
    long seed = 11;
    Arrivals arrivals = arrivals(new LoadMode.Open(1000, Distribution.POISSON, 1), seed);
    int count = 200_000;
    long previous = START;
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < count; i++) {
      double gap = arrivals.peek(0) - previous;
      assertTrue(gap >= 0);
      sum += gap;
      squares += gap * gap;
      previous = arrivals.peek(0);
      arrivals.take();
    }
    double mean = sum / count;
    double deviation = Math.sqrt(squares / count - mean * mean);

    assertEquals(1e6, mean, 1e4, "seed " + seed);
    assertEquals(1e6, deviation, 2e4, "seed " + seed);
  }

  @Test
  void closed_anyTime_isNow() {
    Arrivals arrivals = arrivals(new LoadMode.Closed(1), 1);

    arrivals.take();

    assertEquals(77, arrivals.peek(77));
  }

  private static Arrivals arrivals(LoadMode mode, long seed) {
    return Arrivals.of(mode, START, new SplittableRandom(seed));
  }
}
