package io.pipelane.cluster.simulator;

import java.util.List;

/**
 * A way to run a cluster: how workloads share a device, and which mechanisms there are.
 *
 * @param matching places are chosen by predicted speeds; else jobs go to free devices at random,
 *     first come first served, and stay
 * @param complement the share of multiprocessors is what online work leaves; else it is fixed
 * @param throttle offline launches are slowed by the device's load
 * @param states jobs begin on healthy devices only, and are evicted from overloaded ones
 */
public record Scheme(
    String name,
    SharingWay way,
    boolean matching,
    boolean complement,
    boolean throttle,
    boolean states) {
  public static final Scheme ONLINE_ONLY =
      new Scheme("online only", SharingWay.ONLINE_ONLY, false, false, false, false);
  public static final Scheme OURS = new Scheme("ours", SharingWay.SPACE, true, true, true, true);

  /** Those that are compared (MuxFlow, figures 11 and 13), online work alone first. */
  public static final List<Scheme> ALL =
      List.of(
          ONLINE_ONLY,
          new Scheme("time slices", SharingWay.TIME_SLICES, false, false, false, false),
          new Scheme("priority slices", SharingWay.PRIORITY_SLICES, false, false, false, false),
          OURS,
          new Scheme("ours, no matching", SharingWay.SPACE, false, true, true, true),
          new Scheme("ours, fixed share", SharingWay.SPACE, true, false, true, true),
          new Scheme("ours, neither", SharingWay.SPACE, false, false, true, true),
          new Scheme("ours, no throttle", SharingWay.SPACE, true, true, false, true),
          new Scheme("ours, no states", SharingWay.SPACE, true, true, true, false),
          new Scheme("gates", SharingWay.GATES, true, true, false, true),
          new Scheme("gates, share", SharingWay.GATED_SPACE, true, true, false, true));

  @Override
  public String toString() {
    return name;
  }
}
