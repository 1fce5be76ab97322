package io.pipelane.switcher.residency;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class UsageTest {
  private static final long MINUTE = Duration.ofMinutes(1).toNanos();

  @Test
  void at_everyHalfLife_countsHalf() {
    Usage usage = new Usage(Duration.ofMinutes(1), -7 * MINUTE);
    assertEquals(0, usage.at(0));
    usage.used(0);
    usage.used(0);
    assertEquals(2, usage.at(0), 1e-12);
    assertEquals(1, usage.at(MINUTE), 1e-12);
    assertEquals(Math.sqrt(2), usage.at(MINUTE / 2), 1e-12);
    usage.used(MINUTE);
    assertEquals(2, usage.at(MINUTE), 1e-12);
    assertEquals(0.25, usage.at(4 * MINUTE), 1e-12);
    assertEquals(0, usage.at(5_000 * MINUTE), 1e-12);
  }

  @Test
  void at_clockThatPassesItsLargestNumber_goesOn() {
    Usage usage = new Usage(Duration.ofMinutes(1), Long.MAX_VALUE - MINUTE / 2);
    usage.used(Long.MAX_VALUE - MINUTE / 2);
    assertEquals(0.5, usage.at(Long.MIN_VALUE + MINUTE / 2 - 1), 1e-6);
  }

  @Test
  void used_moreOftenThanItIsUpdated_losesNothing() {
    Usage usage = new Usage(Duration.ofMinutes(1), 0);
    Usage steady = Usage.steady(Duration.ofMinutes(1), 100_000, 0);
    long gap = Duration.ofSeconds(1).toNanos() / 100_000;
    long now = 0;
    for (; now < 10 * MINUTE; now += gap) {
      usage.used(now);
    }
    double expected = steady.at(0) * (1 - Math.pow(2, -10));
    assertEquals(1, usage.at(now) / expected, 1e-4);
    assertEquals(100_000 * (1 - Math.pow(2, -10)), usage.perSecond(now), 10);
  }
}
