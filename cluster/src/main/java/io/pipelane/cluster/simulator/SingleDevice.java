package io.pipelane.cluster.simulator;

/**
 * The simulator's figures of one device under constant load, to be held against measurements.
 *
 * @param meanMillis of online requests
 * @param p99Millis of online requests
 * @param speed of the offline work at gates, over that of its own alone
 */
public record SingleDevice(double meanMillis, double p99Millis, double speed) {
  private static final double LATE = 0.99;

  /**
   * A device with offline work that always computes, at gates, or with none.
   *
   * @param deviceMillis what a request takes on the device
   * @param hostMillis what it takes besides
   * @param rate of requests a second, at random
   */
  public static SingleDevice at(
      double deviceMillis, double hostMillis, double rate, boolean withOffline) {
    OnlineService online = new OnlineService("online", deviceMillis, hostMillis, 0.5, 0.5, 0, 0);
    OfflineModel offline = new OfflineModel("offline", 1, 0.5, 0.5, 0, 1, 0);
    GpuType cool = new GpuType("without heat", 1, 0, 1, 0, 0.5);
    SharingModel model = new AssumedSharing(cool, 1);
    Effect effect =
        withOffline
            ? model.shared(SharingWay.GATES, online, rate, offline, 1, 1)
            : model.alone(online, rate);
    double run = effect.requestMillis();
    RequestWaits waits = RequestWaits.at(OnlineService.utilization(rate, run));
    return new SingleDevice(
        hostMillis + run * (1 + waits.mean()),
        hostMillis + run * (1 + waits.quantile(LATE)),
        effect.speed());
  }
}
