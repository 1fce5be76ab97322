package io.pipelane.cluster.profile;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The profiler of a workload, which adds up what a device shows while the workload has it for
 * itself (MuxFlow §3, workload profiler): the server's own samples and the times of its runs.
 * Belongs to one thread.
 */
public final class Profiler {
  private static final double NANOS_PER_MILLI = 1e6;

  private final Mean utilization = new Mean();
  private final Mean activity = new Mean();
  private final Mean occupancy = new Mean();
  private final Mean millis = new Mean();

  /** A mean of what has been said so far. */
  private static final class Mean {
    private double sum;
    private long count;

    void add(double value) {
      add(value, 1);
    }

    /** So many values that come to this together. */
    void add(double values, long number) {
      sum += values;
      count += number;
    }

    OptionalDouble value() {
      return count == 0 ? OptionalDouble.empty() : OptionalDouble.of(sum / count);
    }
  }

  /**
   * The device was looked at.
   *
   * @param time since the look before
   * @param ran how long the runs took that ended since then, more than that where one began before
   * @param whileBusy of the multiprocessors, those that were busy meanwhile
   */
  public void looked(Duration time, Duration ran, double whileBusy) {
    utilization.add((double) ran.toNanos(), time.toNanos());
    activity.add(ran.toNanos() * whileBusy, time.toNanos());
  }

  /** Occupancy was measured, which not every device can be asked for. */
  public void occupied(double share) {
    occupancy.add(share);
  }

  /** So many requests were answered, or iterations ended, in so long together. */
  public void ran(Duration took, long runs) {
    millis.add(took.toNanos() / NANOS_PER_MILLI, runs);
  }

  /** Whether the device was looked at. */
  public boolean hasLooked() {
    return utilization.count > 0;
  }

  /** How many requests were answered, or iterations ended. */
  public long runs() {
    return millis.count;
  }

  /**
   * What was seen, once there are samples and runs. Occupancy that nobody measured is given as what
   * the multiprocessors do while the device is busy.
   */
  public Optional<WorkloadProfile> profile() {
    if (utilization.value().isEmpty() || millis.value().orElse(0) <= 0) {
      return Optional.empty();
    }
    double busyTime = utilization.value().getAsDouble();
    double busy = activity.value().orElse(busyTime);
    double whileBusy = busyTime == 0 ? 0 : Math.min(1, busy / busyTime);
    return Optional.of(
        new WorkloadProfile(
            Math.min(1, busyTime),
            Math.min(1, busy),
            occupancy.value().orElse(whileBusy),
            millis.value().getAsDouble()));
  }
}
