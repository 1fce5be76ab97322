package io.pipelane.server.metrics;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The counts of offline jobs' places as the metrics tell them.
 *
 * @param devices by name; none where jobs are not placed
 * @param matchings made since the start
 * @param moves of jobs from one device to another, since the start
 * @param pairs of workloads that shared a device, of which speeds were measured
 * @param error of what was learnt from them, on those kept aside; empty while they are too few
 */
public record PlacementCounts(
    Map<String, Device> devices, long matchings, long moves, int pairs, OptionalDouble error) {
  /** Where jobs are not placed. */
  public static final PlacementCounts NONE =
      new PlacementCounts(Map.of(), 0, 0, 0, OptionalDouble.empty());

  /**
   * A device.
   *
   * @param onlineUtilization of the time, that in which online requests compute
   * @param predicted the throughput of its offline job over that alone; empty without one
   */
  public record Device(double onlineUtilization, Optional<Double> predicted) {}
}
