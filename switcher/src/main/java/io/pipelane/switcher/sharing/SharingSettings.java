package io.pipelane.switcher.sharing;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.SharingConfig;
import io.pipelane.lanes.monitor.DeviceMonitor;

/**
 * The settings by which online and offline work share a device.
 *
 * @param monitor what looks at the device; closed with the switcher
 */
public record SharingSettings(SharingConfig config, DeviceMonitor monitor) {
  /** Protection by gates on a device that nobody looks at. */
  public static SharingSettings unwatched() {
    return new SharingSettings(
        PipelaneConfig.defaults().sharing(), DeviceMonitor.none("nobody looks at the device"));
  }
}
