package io.pipelane.cluster.simulator;

import io.pipelane.cluster.profile.WorkloadProfile;
import java.util.List;

/**
 * A model that offline jobs train. All figures but the names are assumed.
 *
 * @param utilization of the time alone, that in which the device computes
 * @param busyActivity of the multiprocessors, those that are busy meanwhile
 * @param occupancy of the threads that these can hold, those that they do
 * @param traffic to the device's memory meanwhile, of the most
 * @param iterationMillis what an iteration takes alone
 * @param checkpointBytes weights and what the optimiser keeps
 */
record OfflineModel(
    String name,
    double utilization,
    double busyActivity,
    double occupancy,
    double traffic,
    double iterationMillis,
    long checkpointBytes) {
  /** Those of MuxFlow's traces (§7.1). */
  static final List<OfflineModel> ALL =
      List.of(
          new OfflineModel("resnet50", 0.92, 0.75, 0.50, 0.45, 180, 204_000_000),
          new OfflineModel("vgg16", 0.98, 0.92, 0.60, 0.55, 320, 1_107_000_000),
          new OfflineModel("densenet201", 0.80, 0.60, 0.45, 0.60, 260, 160_000_000),
          new OfflineModel("inception_v3", 0.88, 0.68, 0.40, 0.40, 200, 190_000_000));

  WorkloadProfile profile() {
    return new WorkloadProfile(utilization, utilization * busyActivity, occupancy, iterationMillis);
  }
}
