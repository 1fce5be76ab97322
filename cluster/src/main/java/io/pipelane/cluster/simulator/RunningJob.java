package io.pipelane.cluster.simulator;

import io.pipelane.cluster.placement.OfflineJob;
import io.pipelane.cluster.profile.WorkloadProfile;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A job and how far it is. Times are minutes. */
final class RunningJob {
  /** Starting a container anew (MuxFlow §7.2 speaks of pulling images and of initialisation). */
  private static final double RESTART_SECONDS = 60;

  /** Of the network, for a checkpoint that goes to a store and from there to the next device. */
  private static final double BYTES_PER_SECOND = 1.25e9;

  private final JobTrace.Job job;
  private final WorkloadProfile profile;
  private final double moveMinutes;
  private @Nullable SimulatedDevice device;
  private double done;
  private double checkpoint;
  private double standsStill;
  private double onDevices;
  private double ended = Double.NaN;

  RunningJob(JobTrace.Job job) {
    this.job = job;
    this.profile = job.model().profile();
    this.moveMinutes =
        (RESTART_SECONDS + 2 * job.model().checkpointBytes() / BYTES_PER_SECOND) / 60;
  }

  OfflineModel model() {
    return job.model();
  }

  JobTrace.Job job() {
    return job;
  }

  /** As placement sees it. */
  OfflineJob described() {
    return new OfflineJob(
        Integer.toString(job.number()),
        profile,
        Optional.ofNullable(device).map(SimulatedDevice::id),
        Duration.ofNanos(Math.round(moveMinutes * 60e9)),
        Set.of());
  }

  /** From having a device until it computes there. */
  double moveMinutes() {
    return moveMinutes;
  }

  @Nullable SimulatedDevice device() {
    return device;
  }

  /** Begins on a device, from its checkpoint. */
  void beginOn(SimulatedDevice next) {
    device = next;
    standsStill = moveMinutes;
  }

  /** Leaves its device with all that it has done. */
  void leave() {
    checkpoint = done;
    device = null;
  }

  /** Leaves its device without a checkpoint. */
  void evict() {
    done = checkpoint;
    device = null;
  }

  void writeCheckpoint() {
    checkpoint = done;
  }

  /** Whether it computes within a minute from now on. */
  boolean computes() {
    return standsStill < 1;
  }

  /**
   * Goes on for a minute.
   *
   * @param part of its speed alone, what it has beside others
   * @param deviceSpeed of the device, over that which the job's length is for
   * @return whether it has ended
   */
  boolean advance(int minute, double part, double deviceSpeed) {
    double speed = part * deviceSpeed;
    double time = 1 - Math.min(1, standsStill);
    standsStill -= 1 - time;
    double left = job.alone() - done;
    if (speed * time >= left) {
      double taken = 1 - time + left / speed;
      onDevices += deviceSpeed * taken;
      ended = minute + taken;
      device = null;
      return true;
    }
    done += speed * time;
    onDevices += deviceSpeed;
    return false;
  }

  boolean hasEnded() {
    return !Double.isNaN(ended);
  }

  double ended() {
    return ended;
  }

  /** From its coming to its end. */
  double completion() {
    return ended - job.arrival();
  }

  /** The time for which it had a device, as if all of it had been on those of speed 1. */
  double onDevices() {
    return onDevices;
  }
}
