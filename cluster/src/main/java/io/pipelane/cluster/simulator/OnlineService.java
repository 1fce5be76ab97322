package io.pipelane.cluster.simulator;

import io.pipelane.cluster.profile.WorkloadProfile;
import java.util.List;

/**
 * A service that has many devices, each with an instance of its model. All figures are assumed.
 *
 * @param deviceMillis what a request takes on a device of its own
 * @param hostMillis what it takes besides
 * @param busyActivity of the multiprocessors, those that are busy while a request runs
 * @param occupancy of the threads that these can hold, those that they do
 * @param traffic to the device's memory while a request runs, of the most
 * @param peakHour when most requests come
 */
record OnlineService(
    String name,
    double deviceMillis,
    double hostMillis,
    double busyActivity,
    double occupancy,
    double traffic,
    double peakHour) {
  /** Three, as in MuxFlow's simulation (§7.1). */
  static final List<OnlineService> ALL =
      List.of(
          new OnlineService("recommendation", 1, 4, 0.25, 0.30, 0.35, 21),
          new OnlineService("translation", 2, 5, 0.40, 0.35, 0.40, 15),
          new OnlineService("vision", 3, 6, 0.55, 0.45, 0.45, 19));

  private static final double OBJECTIVE = 5;
  private static final double MOST_UTILIZATION = 0.97;

  /** What a request is to take at most, for the attainment that devices are judged by. */
  double objectiveMillis() {
    return OBJECTIVE * (deviceMillis + hostMillis);
  }

  /** The same on a type of GPU, where a request takes less time on the device. */
  OnlineService on(GpuType gpu) {
    return new OnlineService(
        name, deviceMillis / gpu.speed(), hostMillis, busyActivity, occupancy, traffic, peakHour);
  }

  /** Of the time, that in which a request runs, where each takes so long. */
  static double utilization(double rate, double millis) {
    return Math.min(MOST_UTILIZATION, rate * millis / 1e3);
  }

  /** What it does to a device at a rate of requests a second. */
  WorkloadProfile profile(double rate) {
    double busy = utilization(rate, deviceMillis);
    return new WorkloadProfile(busy, busy * busyActivity, occupancy, deviceMillis + hostMillis);
  }
}
