package io.pipelane.cluster.profile;

import io.pipelane.lanes.monitor.DeviceSample;
import io.pipelane.switcher.sharing.SharingOverview;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Adds up what a device shows while a workload has it for itself (MuxFlow §3, workload profiler):
 * the server's own samples and the times of its runs. Belongs to one thread.
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
      sum += value;
      count++;
    }

    OptionalDouble value() {
      return count == 0 ? OptionalDouble.empty() : OptionalDouble.of(sum / count);
    }
  }

  /** The device was looked at, as the server's state shows it ({@code sharing}). */
  public void looked(SharingOverview overview) {
    DeviceSample sample = overview.sample();
    sample.utilization().ifPresent(utilization::add);
    OptionalDouble busy = sample.activity().isPresent() ? sample.activity() : sample.utilization();
    busy.ifPresent(activity::add);
  }

  /** Occupancy was measured; the server's samples do not have it. */
  public void occupied(double share) {
    occupancy.add(share);
  }

  /** A request was answered, or an iteration ended, after so long. */
  public void ran(Duration took) {
    millis.add(took.toNanos() / NANOS_PER_MILLI);
  }

  /**
   * What was seen, once there are samples and runs. Occupancy that nobody measured is given as what
   * the multiprocessors do while the device is busy.
   */
  public Optional<WorkloadProfile> profile() {
    if (utilization.value().isEmpty() || millis.value().isEmpty()) {
      return Optional.empty();
    }
    double busyTime = utilization.value().getAsDouble();
    double busy = activity.value().orElse(busyTime);
    double whileBusy = busyTime == 0 ? 0 : Math.min(1, busy / busyTime);
    return Optional.of(
        new WorkloadProfile(
            busyTime, busy, occupancy.value().orElse(whileBusy), millis.value().getAsDouble()));
  }
}
