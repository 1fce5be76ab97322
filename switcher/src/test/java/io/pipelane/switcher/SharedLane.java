package io.pipelane.switcher;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.monitor.DeviceMonitor;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.sharing.SharingSettings;
import java.util.Map;

/** A device of one lane and 64 MiB of working memory that online and offline work share. */
final class SharedLane {
  private static final long WORKING_BYTES = 64 << 20;

  private SharedLane() {}

  /** The settings of its switcher, with some of a configuration. */
  static SwitcherSettings settings(
      long weightBytes, Map<String, String> config, DeviceMonitor monitor) {
    return SwitcherSettings.of(
            weightBytes, WORKING_BYTES, 1, 1_000, 1 << 20, new EqualBytesGrouping(8, 1))
        .withSharing(new SharingSettings(PipelaneConfig.of(config).sharing(), monitor));
  }
}
