package io.pipelane.cluster.simulator;

/**
 * The effects of two workloads on a device on each other, by assumed figures.
 *
 * @param heat how much of the type's loss of clock this device has; 1 as most
 */
record AssumedSharing(GpuType gpu, double heat) implements SharingModel {
  /*
   * A request takes e on the device and keeps a part of the multiprocessors busy; offline work
   * computes for a part u of its time alone, on a part a of them.
   *
   * In slices, both take turns while both have work: online work gets a weight w of the time (a half,
   * or most of it), so a request takes e (1 + u (1/w - 1)), and offline work loses w of its time while
   * requests are in flight. Behind a request, a guard passes before prioritised work gives way.
   *
   * At gates, offline work has the time in which no request is in flight, and a request that finds
   * none in flight waits for half a segment on the average. The part that offline work makes of the
   * idle time is measured.
   *
   * In space, offline work that has fewer multiprocessors than it could use takes (a / share)^p as
   * long to compute. Where both together want more than there are, both are slowed in proportion,
   * and so by the product of their memory traffic.
   *
   * In space with gates, offline work has its share of the multiprocessors while a request is in
   * flight, and all of them otherwise.
   *
   * The clock follows the activity of both; all speeds are against the clock that each has alone.
   */
  private static final double EQUAL = 0.5;
  private static final double PRIORITY = 0.8;

  /** What switching between processes costs offline work. */
  private static final double SWITCHING = 0.05;

  private static final double GUARD_MILLIS = 1;

  /** Measured with BERT-base, ResNet-152, DenseNet-201 and VGG-16 on an H200: sharing.md. */
  private static final double KEPT_AT_GATES = 0.96;

  private static final double SEGMENT_MILLIS = 0.26;

  @Override
  public Effect alone(OnlineService online, double rate) {
    double busy = OnlineService.utilization(rate, online.deviceMillis());
    double activity = busy * online.busyActivity();
    return new Effect(online.deviceMillis(), 0, busy, activity, gpu.clock(activity, heat));
  }

  @Override
  public Effect shared(
      SharingWay way,
      OnlineService online,
      double rate,
      OfflineModel offline,
      double share,
      double launches) {
    return switch (way) {
      case ONLINE_ONLY -> alone(online, rate);
      case TIME_SLICES -> slices(online, rate, offline, EQUAL, 0);
      case PRIORITY_SLICES -> slices(online, rate, offline, PRIORITY, GUARD_MILLIS);
      case GATES -> gates(online, rate, offline);
      case SPACE -> space(online, rate, offline, share, launches);
      case GATED_SPACE -> gatedSpace(online, rate, offline, share, launches);
    };
  }

  private Effect slices(
      OnlineService online, double rate, OfflineModel offline, double weight, double guard) {
    double computing = offline.utilization();
    double millis = online.deviceMillis() * (1 + computing * (1 / weight - 1));
    double busy = OnlineService.utilization(rate, millis);
    double guarded = Math.min(1 - busy, rate * guard / 1e3);
    double left = 1 - busy * weight - guarded;
    return turns(online, rate, offline, millis, left * (1 - SWITCHING));
  }

  private Effect gates(OnlineService online, double rate, OfflineModel offline) {
    double idle = 1 - OnlineService.utilization(rate, online.deviceMillis());
    double millis = online.deviceMillis() + idle * offline.utilization() * SEGMENT_MILLIS / 2;
    return turns(online, rate, offline, millis, idle * KEPT_AT_GATES);
  }

  /** One after the other, where offline work finds so much of the time. */
  private Effect turns(
      OnlineService online, double rate, OfflineModel offline, double millis, double left) {
    double computing = offline.utilization();
    double time = 1 - computing + computing / Math.max(0.01, left);
    double requests = OnlineService.utilization(rate, online.deviceMillis());
    double computed = computing / time;
    double activity = requests * online.busyActivity() + computed * offline.busyActivity();
    return clocked(
        online, rate, offline, millis, 1 / time, Math.min(1, requests + computed), activity);
  }

  private Effect space(
      OnlineService online, double rate, OfflineModel offline, double share, double launches) {
    double used = Math.min(share, offline.busyActivity());
    double computing =
        offline.utilization() * Math.pow(offline.busyActivity() / used, gpu.smallShare());
    double time = 1 - offline.utilization() + computing;
    double present = launches * computing / time;
    double wanted = Math.max(1, online.busyActivity() + used);
    double traffic =
        gpu.contention() * online.traffic() * offline.traffic() * used / offline.busyActivity();
    double together = wanted * (1 + traffic);
    double millis = online.deviceMillis() * (1 + present * (together - 1));
    double busy = OnlineService.utilization(rate, millis);
    double speed = launches / (time * (1 + busy * computing / time * (together - 1)));
    double activity = Math.min(1, busy * online.busyActivity() + present * used);
    double utilization = 1 - (1 - busy) * (1 - present);
    return clocked(online, rate, offline, millis, speed, utilization, activity);
  }

  private Effect gatedSpace(
      OnlineService online, double rate, OfflineModel offline, double share, double launches) {
    Effect beside = space(online, rate, offline, share, launches);
    Effect between = space(online, 0, offline, 1, launches);
    double busy = OnlineService.utilization(rate, beside.requestMillis());
    return new Effect(
        beside.requestMillis(),
        busy * beside.speed() + (1 - busy) * between.speed(),
        beside.utilization(),
        busy * beside.activity() + (1 - busy) * between.activity(),
        busy * beside.clock() + (1 - busy) * between.clock());
  }

  private Effect clocked(
      OnlineService online,
      double rate,
      OfflineModel offline,
      double millis,
      double speed,
      double utilization,
      double activity) {
    double clock = gpu.clock(activity, heat);
    double offlineAlone = gpu.clock(offline.utilization() * offline.busyActivity(), heat);
    double onlineAlone = alone(online, rate).clock();
    return new Effect(
        millis * Math.max(1, onlineAlone / clock),
        Math.min(1, speed * clock / offlineAlone),
        utilization,
        activity,
        clock);
  }
}
