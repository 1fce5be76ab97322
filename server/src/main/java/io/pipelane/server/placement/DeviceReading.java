package io.pipelane.server.placement;

import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.switcher.placement.MemberOverview;
import io.pipelane.switcher.placement.MemberOverview.Work;
import io.pipelane.switcher.sharing.SharingOverview;
import io.pipelane.switcher.sharing.monitor.SharingState;
import java.util.OptionalDouble;

/**
 * A device as placement looks at it.
 *
 * @param usable false once it is lost
 * @param online what it has answered of online requests, since the start
 * @param offline the same of offline ones
 * @param sample what it shows of itself, all work together
 * @param share of the multiprocessors, what offline work has while online work runs; all where it
 *     has none of its own, as it has the whole device then, in turns
 */
public record DeviceReading(
    String name,
    boolean usable,
    SharingState state,
    Work online,
    Work offline,
    DeviceSample sample,
    double share) {
  private static final double PERCENT = 100;

  /** What gates leave is the whole device, while they do. */
  static final double WHOLE = 1;

  /** What is told of a device as one of several, and as one that work shares. */
  public static DeviceReading of(String name, MemberOverview member, SharingOverview sharing) {
    return new DeviceReading(
        name,
        member.usable(),
        sharing.seen().state(),
        member.online(),
        member.offline(),
        sharing.seen().sample(),
        share(sharing.multiprocessors().percent()));
  }

  private static double share(int percent) {
    return percent == 0 ? WHOLE : percent / PERCENT;
  }

  /** Of the multiprocessors, those that are busy while any is; all where that is not measured. */
  double whileBusy() {
    double busyTime = sample.work().utilization().orElse(0);
    return busyTime > 0 ? Math.min(1, sample.work().activity().orElse(busyTime) / busyTime) : 1;
  }

  /** Of the threads that its busy multiprocessors can hold, those that they held, if measured. */
  OptionalDouble occupancy() {
    double busy = sample.work().activity().orElse(0);
    OptionalDouble ofAll = sample.work().occupancy();
    return ofAll.isPresent() && busy > 0
        ? OptionalDouble.of(Math.min(1, ofAll.getAsDouble() / busy))
        : OptionalDouble.empty();
  }

  /** Whether an offline job may begin here. */
  boolean takesJobs() {
    return usable && state == SharingState.HEALTHY;
  }
}
