package io.pipelane.bench.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ArrivalsTest {
  private static final long SECOND = 1_000_000_000L;

  @Test
  void poisson_sameSeed_sameTimes() {
    assertEquals(Arrivals.poisson(50, SECOND, 3), Arrivals.poisson(50, SECOND, 3));
  }

  @Test
  void poisson_comesAtItsRate_inOrderAndInTime() {
    List<Long> times = Arrivals.poisson(100, 100 * SECOND, 7);
    assertEquals(10_000, times.size(), 500);
    assertEquals(times.stream().sorted().toList(), times);
    assertTrue(times.getLast() <= 100 * SECOND);
  }

  @Test
  void poisson_ratesThatChange_comeStepByStep() {
    List<Long> times = Arrivals.poisson(new double[] {1_000, 10, 2_000}, SECOND, 3);
    assertEquals(times.stream().sorted().toList(), times);
    assertEquals(1_000, (int) times.stream().filter(time -> time < SECOND).count(), 150);
    assertEquals(2_000, (int) times.stream().filter(time -> time >= 2 * SECOND).count(), 200);
  }

  @Test
  void regular_comesAtEqualIntervalsFromTheBeginningOn() {
    assertEquals(
        List.of(0L, SECOND / 4, SECOND / 2, 3 * SECOND / 4, SECOND), Arrivals.regular(4, SECOND));
    assertEquals(301, Arrivals.regular(3, 100 * SECOND).size(), "rounding does not add up");
  }
}
