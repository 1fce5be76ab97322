package io.pipelane.switcher;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.lanes.monitor.DeviceMonitor;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.residency.ResidencySettings;
import io.pipelane.switcher.sharing.SharingSettings;
import java.util.Map;

/** A device of one lane and 64 MiB of working memory that online and offline work share. */
final class SharedLane {
  private static final long WORKING_BYTES = 64 << 20;

  private SharedLane() {}

  /** The settings of its switcher, with some of a configuration. */
  static SwitcherSettings settings(
      long weightBytes, Map<String, String> config, DeviceMonitor monitor) {
    return new SwitcherSettings(
        weightBytes,
        WORKING_BYTES,
        0,
        0,
        1,
        1_000,
        1 << 20,
        new EqualBytesGrouping(8, 1),
        SegmentProfiles.inMemory(),
        ResidencySettings.onDemand(ResidencyConfig.Policy.EXPECTED_STALL),
        PipelaneConfig.defaults().scheduling(),
        new SharingSettings(PipelaneConfig.of(config).sharing(), monitor));
  }
}
