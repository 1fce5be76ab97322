package io.pipelane.bench.stall;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class StallsTest {
  private static final long SECOND = 1_000_000_000;

  @Test
  void latency_equalStalls_isStallWithoutTheShareOfThePeriod() {
    Stalls stalls = Stalls.equal(4, SECOND, 10 * SECOND);

    assertEquals(0.9e9, stalls.latency(99), 1);
    assertEquals(0.5e9, stalls.latency(95), 1);
    assertEquals(0.95e9, stalls.latency(99.5), 1);
  }

  /** Of 20 s, a hundredth is 200 ms: with t = 1.4 s, (1.5 - t) + (1.5 - t). */
  @Test
  void latency_drawnOutStalls_isLonger() {
    Stalls stalls = new Stalls(List.of(3 * SECOND / 2, 3 * SECOND / 2), 10 * SECOND);

    assertEquals(1.4e9, stalls.latency(99), 1);
  }

  @Test
  void latency_stallsOfDifferentLengths_theLongerOnesCountForTheTail() {
    Stalls stalls = new Stalls(List.of(SECOND, 2 * SECOND), 10 * SECOND);

    assertEquals(1.8e9, stalls.latency(99), 1);
  }

  @Test
  void latency_shareThatMeetsNoStall_isNothing() {
    assertEquals(0, Stalls.equal(1, SECOND, 10 * SECOND).latency(50), 1);
  }
}
