package io.pipelane.bench.local;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class OnlineLoadTest {
  private static double share(List<Long> arrivalMillis, List<Double> millis) {
    List<Long> arrivals = arrivalMillis.stream().map(value -> value * 1_000_000).toList();
    return new OnlineLoad.Outcome(arrivals, millis, 20_000_000).shareWithoutRequests();
  }

  @Test
  void shareWithoutRequests_oneAfterTheOther_isTheRest() {
    assertEquals(0.75, share(List.of(1L, 10L), List.of(2.0, 3.0)), 1e-9);
  }

  @Test
  void shareWithoutRequests_atTheSameTime_countsOnce() {
    assertEquals(0.5, share(List.of(0L, 2L, 3L), List.of(10.0, 4.0, 2.0)), 1e-9);
  }

  @Test
  void shareWithoutRequests_failed_countsNothing() {
    assertEquals(0.9, share(List.of(0L, 5L), List.of(Double.NaN, 2.0)), 1e-9);
  }
}
