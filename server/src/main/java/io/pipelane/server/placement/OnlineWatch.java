package io.pipelane.server.placement;

import io.pipelane.cluster.profile.Profiler;
import io.pipelane.cluster.profile.WorkloadProfile;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The online workload of a device, as the server measures it beside whatever offline work there is,
 * and the share of the multiprocessors that the device has chosen for that meanwhile. Not safe for
 * several threads.
 */
final class OnlineWatch {
  /*
   * The time that online requests computed is known whatever runs beside them. How many of the
   * multiprocessors they kept busy meanwhile, and how full, the device tells for all work together.
   * So it is taken from looks between which no offline request ended; until there was such a look,
   * it is that of all work.
   *
   * The share changes while sizes of it are tried. It is the one that was seen most often.
   */

  /** A device that nobody asks online. */
  static final WorkloadProfile IDLE = new WorkloadProfile(0, 0, 0, 1);

  private Profiler profiler = new Profiler();
  private @Nullable DeviceReading last;
  private long lastNanos;
  private double whileBusy = 1;
  private double busyTime;
  private WorkloadProfile before = IDLE;
  private final Map<Double, Integer> shares = new HashMap<>();
  private double shareBefore = DeviceReading.WHOLE;

  /** Looks once more, now by the device's clock. */
  void look(DeviceReading now, long nowNanos) {
    @Nullable DeviceReading earlier = last;
    long elapsed = nowNanos - lastNanos;
    last = now;
    lastNanos = nowNanos;
    shares.merge(now.share(), 1, Integer::sum);
    if (earlier == null || elapsed <= 0) {
      return;
    }
    long ran = now.online().runNanos() - earlier.online().runNanos();
    busyTime = Math.min(1, (double) ran / elapsed);
    if (now.offline().requests() == earlier.offline().requests() && busyTime > 0) {
      whileBusy = now.whileBusy();
      now.occupancy().ifPresent(profiler::occupied);
    }
    Duration took = Duration.ofNanos(ran);
    profiler.looked(Duration.ofNanos(elapsed), took, whileBusy);
    profiler.ran(took, now.online().requests() - earlier.online().requests());
  }

  /** Of the time between the latest looks, that in which online requests computed. */
  double busyTime() {
    return busyTime;
  }

  /** The workload since the last {@link #begin}; before the first look since then, before that. */
  WorkloadProfile profile() {
    return profiler.profile().orElseGet(() -> profiler.hasLooked() ? IDLE : before);
  }

  /** The share since the last {@link #begin}; before the first look since then, before that. */
  double share() {
    return shares.entrySet().stream()
        .max(
            Map.Entry.<Double, Integer>comparingByValue().thenComparing(Map.Entry.comparingByKey()))
        .map(Map.Entry::getKey)
        .orElse(shareBefore);
  }

  /** Begins to look anew, as workloads change over the day. */
  void begin() {
    before = profile();
    shareBefore = share();
    shares.clear();
    profiler = new Profiler();
  }
}
