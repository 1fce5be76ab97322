package io.pipelane.cluster.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class ProfilerTest {
  private static final double NEAR = 1e-9;

  private final Profiler profiler = new Profiler();

  /** A second in which the device was busy for a part of the time. */
  private void looked(double busyTime, double whileBusy) {
    profiler.looked(Duration.ofSeconds(1), Duration.ofMillis((long) (1000 * busyTime)), whileBusy);
  }

  @Test
  void profile_isTheMeanOfWhatWasSeen() {
    looked(0.8, 0.5);
    looked(1, 0.6);
    profiler.occupied(0.3);
    profiler.ran(Duration.ofMillis(10), 1);
    profiler.ran(Duration.ofMillis(30), 1);

    WorkloadProfile profile = profiler.profile().orElseThrow();

    assertEquals(0.9, profile.utilization(), NEAR);
    assertEquals(0.5, profile.activity(), NEAR);
    assertEquals(0.3, profile.occupancy(), NEAR);
    assertEquals(20, profile.separateMillis(), NEAR);
  }

  @Test
  void profile_occupancyIsNotMeasured_whatIsBusyStandsInForIt() {
    looked(0.5, 1);
    profiler.ran(Duration.ofMillis(1), 1);

    WorkloadProfile profile = profiler.profile().orElseThrow();

    assertEquals(0.5, profile.activity(), NEAR);
    assertEquals(1, profile.occupancy(), NEAR);
  }

  @Test
  void profile_withoutSamplesOrRuns_isNone() {
    assertTrue(profiler.profile().isEmpty());
    looked(0.5, 1);
    assertTrue(profiler.profile().isEmpty());
  }

  @Test
  void workloadProfile_whatIsNoShare_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> new WorkloadProfile(1.1, 0, 0, 1));
    assertThrows(IllegalArgumentException.class, () -> new WorkloadProfile(0, 0, Double.NaN, 1));
    assertThrows(IllegalArgumentException.class, () -> new WorkloadProfile(0, 0, 0, 0));
  }
}
