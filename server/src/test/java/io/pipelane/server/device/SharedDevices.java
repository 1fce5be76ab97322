package io.pipelane.server.device;

import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.sharing.Attainment;
import io.pipelane.switcher.sharing.EvictionCounts;
import io.pipelane.switcher.sharing.SharingOverview;
import io.pipelane.switcher.sharing.gate.OfflineRuns;
import io.pipelane.switcher.sharing.gate.OnlineWork;
import io.pipelane.switcher.sharing.monitor.DeviceLook;
import io.pipelane.switcher.sharing.monitor.SharingState;
import io.pipelane.switcher.sharing.trial.ShareOverview;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/** What tests say of a device that online and offline work share. */
public final class SharedDevices {
  private static final ShareOverview KEPT =
      new ShareOverview(
          ShareOverview.State.KEPT,
          20,
          List.of(
              new ShareOverview.Size(10, OptionalDouble.of(1.01), OptionalDouble.of(0.4)),
              new ShareOverview.Size(20, OptionalDouble.empty(), OptionalDouble.empty())),
          OptionalDouble.of(0.3),
          OptionalDouble.of(0.45),
          OptionalDouble.of(1.02));

  private SharedDevices() {}

  /** A healthy device, of whose figures no two are the same. */
  public static SharingOverview overview(DeviceSample sample, Map<ModelVersion, Double> slowdowns) {
    String reason = "every metric is better than its healthy threshold";
    return overview(SharingState.HEALTHY, reason, 0.5, sample, slowdowns, KEPT);
  }

  /** A healthy one whose multiprocessors nobody divides, as those of a CPU. */
  public static SharingOverview undivided() {
    ShareOverview off =
        new ShareOverview(
            ShareOverview.State.OFF,
            0,
            List.of(),
            OptionalDouble.empty(),
            OptionalDouble.empty(),
            OptionalDouble.empty());
    return overview(SharingState.HEALTHY, "it is idle", 1, DeviceSample.UNKNOWN, Map.of(), off);
  }

  /** One that is overloaded, so that offline work has nothing of it. */
  public static SharingOverview overloaded() {
    return overview(
        SharingState.OVERLIMIT, "memory is 99.5 %", 0, DeviceSample.UNKNOWN, Map.of(), KEPT);
  }

  private static SharingOverview overview(
      SharingState state,
      String reason,
      double share,
      DeviceSample sample,
      Map<ModelVersion, Double> slowdowns,
      ShareOverview multiprocessors) {
    return new SharingOverview(
        new DeviceLook(state, reason, 1, share, 0.75, "a test", sample, slowdowns),
        new Attainment.Objectives(40, 42),
        new OnlineWork.Counts(31, 2.5),
        new OfflineRuns.Counts(1, 33, 34, 35),
        multiprocessors,
        new EvictionCounts(2, 900_000, 500_000, 1, 3_000_000, 2_000_000, 4_096));
  }
}
