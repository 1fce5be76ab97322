package io.pipelane.server.device;

import io.pipelane.config.section.SwitchingConfig;
import io.pipelane.runtime.graph.GraphTarget;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.LinkCosts;
import io.pipelane.switcher.grouping.OptimalGrouping;
import io.pipelane.switcher.grouping.SegmentProfiles;

/**
 * The choice of how transfers to a device are cut: the best way where its link has been measured.
 */
final class DeviceGrouping {
  /** As good as a copy for each segment. */
  private static final Grouping CPU_EQUAL_BYTES = new EqualBytesGrouping(256, 256 << 10);

  private static final Grouping GPU_EQUAL_BYTES = new EqualBytesGrouping(32, 1 << 20);

  private static final Grouping EACH_SEGMENT = new EqualBytesGrouping(Integer.MAX_VALUE, 1);
  private static final Grouping ALL_AT_ONCE = new EqualBytesGrouping(1, Long.MAX_VALUE);

  private DeviceGrouping() {}

  /**
   * The grouping for a device.
   *
   * @param graph what the device is
   * @param costs of its link, once that was measured
   * @param profiles of what runs on it
   */
  static Grouping of(
      SwitchingConfig.Grouping wanted,
      GraphTarget graph,
      LinkCosts costs,
      SegmentProfiles profiles) {
    Grouping equalBytes =
        switch (graph) {
          case PROCESSOR -> CPU_EQUAL_BYTES;
          case GPU -> GPU_EQUAL_BYTES;
        };
    return switch (wanted) {
      case EQUAL -> equalBytes;
      case SEGMENT -> EACH_SEGMENT;
      case WHOLE -> ALL_AT_ONCE;
      case OPTIMAL -> new OptimalGrouping(profiles, costs, equalBytes);
    };
  }
}
