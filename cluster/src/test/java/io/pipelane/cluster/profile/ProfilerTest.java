package io.pipelane.cluster.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.monitor.DeviceMonitor;
import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.lanes.monitor.DeviceSample.Health;
import io.pipelane.lanes.monitor.DeviceSample.Memory;
import io.pipelane.lanes.monitor.DeviceSample.Work;
import io.pipelane.switcher.sharing.Sharing;
import io.pipelane.switcher.sharing.SharingOverview;
import io.pipelane.switcher.sharing.SharingSettings;
import java.time.Duration;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class ProfilerTest {
  private static final double NEAR = 1e-9;

  private final Profiler profiler = new Profiler();

  private static SharingOverview overview(OptionalDouble utilization, OptionalDouble activity) {
    DeviceSample sample =
        new DeviceSample(
            new Work(utilization, activity, OptionalDouble.empty(), OptionalLong.empty()),
            Memory.UNKNOWN,
            Health.UNKNOWN);
    SharingSettings settings =
        new SharingSettings(PipelaneConfig.defaults().sharing(), DeviceMonitor.none("a test"));
    try (Sharing sharing = new Sharing(settings, 0, 1, 0, List.of(), () -> 0)) {
      SharingOverview seen = sharing.overview();
      return new SharingOverview(
          seen.state(),
          seen.reason(),
          seen.share(),
          seen.load(),
          seen.overlimitEntries(),
          seen.source(),
          sample,
          seen.counts(),
          seen.slowdowns(),
          seen.multiprocessors(),
          seen.evictions());
    }
  }

  private static SharingOverview overview(double utilization, double activity) {
    return overview(OptionalDouble.of(utilization), OptionalDouble.of(activity));
  }

  @Test
  void profile_isTheMeanOfWhatWasSeen() {
    profiler.looked(overview(0.8, 0.4));
    profiler.looked(overview(1, 0.6));
    profiler.looked(overview(OptionalDouble.empty(), OptionalDouble.empty()));
    profiler.occupied(0.3);
    profiler.ran(Duration.ofMillis(10));
    profiler.ran(Duration.ofMillis(30));

    WorkloadProfile profile = profiler.profile().orElseThrow();

    assertEquals(0.9, profile.utilization(), NEAR);
    assertEquals(0.5, profile.activity(), NEAR);
    assertEquals(0.3, profile.occupancy(), NEAR);
    assertEquals(20, profile.separateMillis(), NEAR);
  }

  @Test
  void profile_whatIsNotMeasured_isStoodInFor() {
    profiler.looked(overview(OptionalDouble.of(0.5), OptionalDouble.empty()));
    profiler.ran(Duration.ofMillis(1));

    WorkloadProfile profile = profiler.profile().orElseThrow();

    assertEquals(0.5, profile.activity(), NEAR);
    assertEquals(1, profile.occupancy(), NEAR);
  }

  @Test
  void profile_withoutSamplesOrRuns_isNone() {
    assertTrue(profiler.profile().isEmpty());
    profiler.looked(overview(0.5, 0.5));
    assertTrue(profiler.profile().isEmpty());
  }

  @Test
  void workloadProfile_whatIsNoShare_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> new WorkloadProfile(1.1, 0, 0, 1));
    assertThrows(IllegalArgumentException.class, () -> new WorkloadProfile(0, 0, Double.NaN, 1));
    assertThrows(IllegalArgumentException.class, () -> new WorkloadProfile(0, 0, 0, 0));
  }
}
