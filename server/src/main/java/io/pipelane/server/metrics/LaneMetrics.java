package io.pipelane.server.metrics;

import io.pipelane.lanes.execution.LanesOverview;
import io.pipelane.server.metrics.MetricFamily.Counter;
import io.pipelane.server.metrics.MetricFamily.Gauge;
import java.util.List;
import java.util.Map;

/** The metrics of lanes: how many, how large, and how often that changes. */
final class LaneMetrics {
  private LaneMetrics() {}

  static List<MetricFamily> of(Map<String, DeviceState> devices) {
    Gauge count = new Gauge("pipelane_lanes", "Lanes, by what they are");
    Gauge bytes = new Gauge("pipelane_lane_bytes", "What a lane's memory may be at present");
    Gauge borrowed =
        new Gauge("pipelane_lane_borrowed_bytes", "Memory for weights that lanes have at present");
    Counter moves =
        new Counter(
            "pipelane_lane_moves",
            "Lanes opened, grown while a run was in them, shrunk when left and others needed room");
    devices.forEach(
        (device, state) -> {
          LanesOverview lanes = state.memory().lanes();
          count
              .add(lanes.regionBytes().size(), "device", device, "state", "possible")
              .add(lanes.open(), "device", device, "state", "open")
              .add(lanes.inUse(), "device", device, "state", "in-use")
              .add(lanes.stuck(), "device", device, "state", "stuck");
          for (int i = 0; i < lanes.regionBytes().size(); i++) {
            bytes.add(lanes.regionBytes().get(i), "device", device, "lane", Integer.toString(i));
          }
          borrowed.add(state.memory().weights().lanesBytes(), "device", device);
          moves
              .add(lanes.opened(), "device", device, "kind", "opened")
              .add(lanes.grown(), "device", device, "kind", "grown")
              .add(lanes.shrunk(), "device", device, "kind", "shrunk");
        });
    return List.of(count, bytes, borrowed, moves);
  }
}
