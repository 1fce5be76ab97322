package io.pipelane.cluster.simulator;

/**
 * The effects of two workloads on a device on each other: the truth of the simulator, which speed
 * predictors learn from samples where they do not know it.
 */
sealed interface SharingModel permits AssumedSharing, MeasuredSharing {
  /** The device's type. */
  GpuType gpu();

  /** A device on which nothing but online work runs. */
  Effect alone(OnlineService online, double rate);

  /**
   * A device that both share.
   *
   * @param share of the multiprocessors that offline work may use, in space
   * @param launches of its own speed, what a throttle lets offline work have
   */
  Effect shared(
      SharingWay way,
      OnlineService online,
      double rate,
      OfflineModel offline,
      double share,
      double launches);
}
