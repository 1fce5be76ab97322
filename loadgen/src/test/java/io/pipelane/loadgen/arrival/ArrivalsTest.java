package io.pipelane.loadgen.arrival;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.loadgen.settings.ArrivalPattern;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.Trace;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ArrivalsTest {
  private static final long START = -1_000;
  private static final int COUNT = 300_000;
  private static final long SEED = 11;

  @Test
  void constant_millionRequests_noDrift() {
    Arrivals arrivals = arrivals(new ArrivalPattern.Constant(3));
    for (int i = 0; i < 3_000_000; i++) {
      arrivals.take();
    }

    assertTrue(Math.abs(START + 1_000_000L * 1_000_000_000L - arrivals.peek(0)) <= 1);
  }

  @Test
  void poisson_manyRequests_meanAndSpreadOfAnExponential() {
    assertIntervals(new ArrivalPattern.Poisson(1000), 1);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0.1, 0.5, 1, 2, 4})
  void gamma_manyRequests_statedMeanAndVariation(double variation) {
    assertIntervals(new ArrivalPattern.Gamma(1000, variation), variation);
  }

  @Test
  void bursts_manyRequests_allWithinTheirBursts() {
    Arrivals arrivals =
        arrivals(new ArrivalPattern.Bursts(500, Duration.ofMillis(200), Duration.ofMillis(800)));
    long last = 0;
    for (int i = 0; i < 10_000; i++) {
      last = arrivals.peek(0) - START;
      assertTrue(last % 1_000_000_000L < 200_000_000L, "seed " + SEED + ", at " + last);
      arrivals.take();
    }

    assertEquals(100, last / 1e9, 5, "seed " + SEED);
  }

  @Test
  void listed_allTaken_beginsAgain() {
    Arrivals arrivals =
        arrivals(
            new ArrivalPattern.Listed(
                List.of(Duration.ofNanos(3000), Duration.ZERO, Duration.ofNanos(40_000))));
    List<Long> times = new ArrayList<>();
    for (int i = 0; i < 7; i++) {
      times.add(arrivals.peek(0) - START);
      arrivals.take();
    }

    assertEquals(List.of(3000L, 3000L, 43_000L, 46_000L, 46_000L, 86_000L, 89_000L), times);
  }

  @Test
  void replay_allTaken_neverAgain() {
    Trace trace = new Trace(new long[] {5, 9}, new int[] {2, 0}, new int[] {1, 3});
    Arrivals arrivals = arrivals(new ArrivalPattern.Replay(trace));

    assertEquals(START + 5, arrivals.peek(0));
    assertEquals(2, arrivals.model());
    assertEquals(1, arrivals.variant());
    arrivals.take();
    assertEquals(START + 9, arrivals.peek(0));
    arrivals.take();
    assertEquals(Arrivals.NEVER, arrivals.peek(0));
  }

  @Test
  void closed_anyTime_isNow() {
    Arrivals arrivals = Arrivals.of(new LoadMode.Closed(1), START, new SplittableRandom(SEED));

    arrivals.take();

    assertEquals(77, arrivals.peek(77));
    assertEquals(Arrivals.ANY, arrivals.model());
  }

  private static void assertIntervals(ArrivalPattern pattern, double variation) {
    Arrivals arrivals = arrivals(pattern);
    long previous = START;
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < COUNT; i++) {
      double gap = arrivals.peek(0) - previous;
      assertTrue(gap >= 0);
      sum += gap;
      squares += gap * gap;
      previous = arrivals.peek(0);
      arrivals.take();
    }
    double mean = sum / COUNT;
    double deviation = Math.sqrt(squares / COUNT - mean * mean);

    assertEquals(1e6, mean, 2e4 * Math.max(1, variation), "seed " + SEED);
    assertEquals(variation, deviation / mean, 0.04 * variation, "seed " + SEED);
  }

  private static Arrivals arrivals(ArrivalPattern pattern) {
    return Arrivals.of(new LoadMode.Open(pattern, 1), START, new SplittableRandom(SEED));
  }
}
