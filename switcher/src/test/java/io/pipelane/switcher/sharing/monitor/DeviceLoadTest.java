package io.pipelane.switcher.sharing.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** MuxFlow's equations 1 and 2. */
class DeviceLoadTest {
  private final DeviceLoad load = new DeviceLoad(0.8, 4, 0.1);

  @ParameterizedTest
  @CsvSource({"0.8, 1", "1.0, 0.9", "0.9, 0.95", "0.6, 2", "0.4, 3", "0.72, 1.4"})
  void clockFactor_followsEquation2(double clock, double factor) {
    assertEquals(factor, load.clockFactor(clock), 1e-12);
  }

  @Test
  void of_isActivityTimesTheFactor() {
    assertEquals(0.5 * 2, load.of(0.5, 0.6), 1e-12);
    assertEquals(0, load.of(0, 0.1), 1e-12);
  }

  @Test
  void clockFactor_fallsWithTheClock() {
    double before = Double.POSITIVE_INFINITY;
    for (double clock = 0.01; clock <= 1; clock += 0.01) {
      double factor = load.clockFactor(clock);
      assertTrue(factor < before);
      before = factor;
    }
  }

  @Test
  void impossibleThreshold_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> new DeviceLoad(1, 4, 0.1));
  }
}
