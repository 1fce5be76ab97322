package io.pipelane.switcher.sharing.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Thresholds;
import io.pipelane.switcher.sharing.monitor.SysMonitor.Transition;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The states of MuxFlow's figure 6b, by recorded readings. */
class SysMonitorTest {
  private static final Duration PERIOD = Duration.ofSeconds(1);
  private static final Map<SharingMetric, Thresholds> THRESHOLDS =
      Map.of(
          SharingMetric.MEMORY, new Thresholds(80, 90, 95),
          SharingMetric.CLOCK, new Thresholds(70, 60, 50));

  private final List<Transition> transitions = new ArrayList<>();
  private final SysMonitor monitor = new SysMonitor(THRESHOLDS, PERIOD, transitions::add);
  private long now;

  private SharingState at(double memory, double clock) {
    return monitor.observe(Map.of(SharingMetric.MEMORY, memory, SharingMetric.CLOCK, clock), now);
  }

  private void pass(Duration time) {
    now += time.toNanos();
  }

  @Test
  void init_onceTheDeviceIsOpen_isHealthy() {
    assertEquals(SharingState.INIT, monitor.state());
    assertEquals(SharingState.HEALTHY, at(0, 100));
  }

  @ParameterizedTest
  @CsvSource({
    "89, 100, HEALTHY", "90, 100, UNHEALTHY", "94.9, 100, UNHEALTHY", "95, 100, OVERLIMIT",
    "10, 61, HEALTHY", "10, 60, UNHEALTHY", "10, 50.1, UNHEALTHY", "10, 50, OVERLIMIT",
    "92, 50, OVERLIMIT", "99, 10, OVERLIMIT"
  })
  void healthy_goesWhereTheWorstMetricSays(double memory, double clock, SharingState expected) {
    at(0, 100);
    assertEquals(expected, at(memory, clock));
  }

  @ParameterizedTest
  @CsvSource({
    "80, 100, UNHEALTHY",
    "79, 70, UNHEALTHY",
    "79, 71, HEALTHY",
    "85, 71, UNHEALTHY",
    "96, 71, OVERLIMIT"
  })
  void unhealthy_isHealthyAgainOnlyBelowHealthysThresholds(
      double memory, double clock, SharingState expected) {
    at(0, 100);
    at(90, 100);
    assertEquals(expected, at(memory, clock));
  }

  @Test
  void overlimit_lastsItsPeriodAndUntilAllIsBelow_thenIsUnhealthy() {
    at(0, 100);
    at(95, 100);
    pass(PERIOD.minusNanos(1));
    assertEquals(SharingState.OVERLIMIT, at(0, 100));
    pass(PERIOD);
    assertEquals(SharingState.OVERLIMIT, at(95, 100), "still over");
    assertEquals(SharingState.UNHEALTHY, at(94, 100));
    assertEquals(SharingState.HEALTHY, at(10, 100));
  }

  @Test
  void overlimit_eachEntryWithinTwoHours_doublesThePeriod() {
    at(0, 100);
    for (int entry = 0; entry < 5; entry++) {
      at(99, 100);
      assertEquals(PERIOD.multipliedBy(1L << entry), monitor.period(now));
      pass(PERIOD.multipliedBy(1L << entry));
      assertEquals(SharingState.UNHEALTHY, at(0, 100));
      at(0, 100);
    }
    assertEquals(5, monitor.entries(now));
    pass(Duration.ofHours(2));
    at(99, 100);
    assertEquals(PERIOD, monitor.period(now), "earlier entries are forgotten");
  }

  @Test
  void disabled_deviceReturns_beginsAnew() {
    at(0, 100);
    monitor.disabled("the GPU is lost");
    monitor.disabled("the GPU is lost");
    assertEquals(SharingState.DISABLED, monitor.state());
    assertEquals(SharingState.INIT, at(0, 100));
    assertEquals(SharingState.HEALTHY, at(0, 100));
    assertEquals(4, transitions.size());
  }

  @Test
  void everyTransition_tellsTheMetricAndItsValue() {
    at(0, 100);
    at(10, 55);
    Transition transition = transitions.getLast();
    assertEquals(Optional.of(SharingMetric.CLOCK), transition.cause());
    assertTrue(transition.reason().contains("clock is 55.0 %"), transition.reason());
    assertTrue(transition.reason().contains("60.0 %"), transition.reason());
  }

  @Test
  void metricThatNobodyMeasures_isGood() {
    monitor.observe(Map.of(), now);
    assertEquals(SharingState.HEALTHY, monitor.observe(Map.of(), now));
  }

  /** Whatever is read, transitions are those of the figure. */
  @Test
  void anyReadings_onlyTheFiguresTransitions() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    SharingState before = monitor.state();
    for (int i = 0; i < 20_000; i++) {
      pass(Duration.ofMillis(random.nextInt(2_000)));
      Map<SharingMetric, Double> readings = new EnumMap<>(SharingMetric.class);
      for (SharingMetric metric : SharingMetric.values()) {
        if (random.nextBoolean()) {
          readings.put(metric, 40 + 60 * random.nextDouble());
        }
      }
      if (random.nextInt(100) == 0) {
        monitor.disabled("at random");
      } else {
        monitor.observe(readings, now);
      }
      SharingState after = monitor.state();
      boolean known =
          switch (before) {
            case INIT, HEALTHY, UNHEALTHY -> after != SharingState.INIT;
            case OVERLIMIT ->
                after == SharingState.OVERLIMIT
                    || after == SharingState.UNHEALTHY
                    || after == SharingState.DISABLED;
            case DISABLED -> after == SharingState.DISABLED || after == SharingState.INIT;
          };
      assertTrue(known, "seed " + seed + ": " + before + " to " + after);
      before = after;
    }
  }
}
