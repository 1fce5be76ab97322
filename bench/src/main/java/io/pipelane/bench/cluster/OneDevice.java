package io.pipelane.bench.cluster;

import io.pipelane.bench.report.Results;
import io.pipelane.cluster.simulator.SingleDevice;
import java.util.List;

/** The simulator's figures of one H200 at gates, beside what was measured there. */
final class OneDevice {
  /** What a request of eight rows takes: the idle share is 0.7596 at 100 a second. */
  private static final double DEVICE_MILLIS = 2.404;

  /** What it takes besides, so that the mean at 100 a second alone is the measured one. */
  private static final double HOST_MILLIS = 0.311;

  private static final double OFFLINE_ALONE = 292.06;

  /** BERT-base beside ResNet-152, medians of docs/results/recorded/h200-sharing.json. */
  private static final List<Measured> MEASURED =
      List.of(
          new Measured("100/s, alone", 100, false, 3.096, 6.523, 0),
          new Measured("250/s, alone", 250, false, 4.302, 12.580, 0),
          new Measured("100/s, gates", 100, true, 2.844, 5.959, 209.24 / OFFLINE_ALONE),
          new Measured("250/s, gates", 250, true, 3.916, 11.465, 114.87 / OFFLINE_ALONE));

  private record Measured(
      String row, double rate, boolean withOffline, double mean, double p99, double speed) {}

  private OneDevice() {}

  static Results compare() {
    Results results =
        new Results(ClusterColumns.ONE_TITLE, ClusterColumns.ONE, ClusterColumns.ONE_NOTES);
    for (Measured live : MEASURED) {
      SingleDevice simulated =
          SingleDevice.at(DEVICE_MILLIS, HOST_MILLIS, live.rate, live.withOffline);
      results.add(live.row, ClusterColumns.LIVE_MEAN, live.mean);
      results.add(live.row, ClusterColumns.SIMULATED_MEAN, simulated.meanMillis());
      results.add(live.row, ClusterColumns.MEAN_OFF, off(simulated.meanMillis(), live.mean));
      results.add(live.row, ClusterColumns.LIVE_P99, live.p99);
      results.add(live.row, ClusterColumns.SIMULATED_P99, simulated.p99Millis());
      results.add(live.row, ClusterColumns.P99_OFF, off(simulated.p99Millis(), live.p99));
      if (live.withOffline) {
        results.add(live.row, ClusterColumns.LIVE_SPEED, live.speed);
        results.add(live.row, ClusterColumns.SIMULATED_SPEED, simulated.speed());
      }
    }
    return results;
  }

  private static double off(double simulated, double live) {
    return 100 * (simulated / live - 1);
  }
}
