package io.pipelane.lanes.monitor;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.LongSupplier;

/** A meter of the multiprocessors' activity by NVML's GPM metrics; Hopper and later have them. */
final class GpmActivity {
  /*
   * nvmlGpmMetricsGet_t: version, number of metrics, two samples, then metrics of 40 bytes each
   * {id, result, double value, three pointers}. Its array is longer in newer headers; there is room
   * for any here, and only as many as the number says are looked at.
   */
  private static final int VERSION = 1;
  private static final int SM_UTIL = 2;
  private static final int SM_OCCUPANCY = 3;
  private static final long METRICS_GET_BYTES = 24 + 512 * 40;
  private static final long SAMPLE_1 = 8;
  private static final long SAMPLE_2 = 16;
  private static final long METRICS = 24;
  private static final long METRIC_BYTES = 40;
  private static final double PERCENT = 100;

  /** The device counts that seldom: between samples 10 ms apart it seems to rest (H100). */
  private static final long WINDOW_NANOS = 95_000_000;

  private final Nvml nvml;
  private final MemorySegment device;
  private final MemorySegment request;
  private final LongSupplier nanoClock;
  private MemorySegment earlier;
  private MemorySegment later;
  private long earlierNanos;
  private Reading latest = Reading.NONE;

  /**
   * One measurement of the multiprocessors.
   *
   * @param activity of them, those that were busy
   * @param occupancy of the threads that they can hold, those that they held
   */
  record Reading(OptionalDouble activity, OptionalDouble occupancy) {
    static final Reading NONE = new Reading(OptionalDouble.empty(), OptionalDouble.empty());
  }

  private GpmActivity(
      Nvml nvml,
      MemorySegment device,
      Arena arena,
      LongSupplier nanoClock,
      MemorySegment earlier,
      MemorySegment later) {
    this.nvml = nvml;
    this.nanoClock = nanoClock;
    this.device = device;
    this.request = arena.allocate(METRICS_GET_BYTES, 8);
    this.earlier = earlier;
    this.later = later;
  }

  /** Empty where the driver or the device has no such metrics. */
  static Optional<GpmActivity> open(
      Nvml nvml, MemorySegment device, Arena arena, LongSupplier nanoClock) {
    MemorySegment support = arena.allocate(8, 4);
    support.set(JAVA_INT, 0, VERSION);
    if (nvml.call("nvmlGpmQueryDeviceSupport", device, support) != Nvml.SUCCESS
        || support.get(JAVA_INT, 4) == 0) {
      return Optional.empty();
    }
    MemorySegment first = arena.allocate(ADDRESS);
    MemorySegment second = arena.allocate(ADDRESS);
    if (nvml.call("nvmlGpmSampleAlloc", first) != Nvml.SUCCESS) {
      return Optional.empty();
    }
    if (nvml.call("nvmlGpmSampleAlloc", second) != Nvml.SUCCESS) {
      nvml.call("nvmlGpmSampleFree", first.get(ADDRESS, 0));
      return Optional.empty();
    }
    GpmActivity activity =
        new GpmActivity(
            nvml, device, arena, nanoClock, first.get(ADDRESS, 0), second.get(ADDRESS, 0));
    nvml.call("nvmlGpmSampleGet", device, activity.earlier);
    activity.earlierNanos = nanoClock.getAsLong();
    return Optional.of(activity);
  }

  /**
   * Of the last tenth of a second that is over, or longer where nobody asked; empty where NVML will
   * not say, and where it does not tell of activity the next is about all the time since.
   */
  Reading read() {
    long now = nanoClock.getAsLong();
    if (now - earlierNanos >= WINDOW_NANOS) {
      latest = measure(now);
    }
    return latest;
  }

  private Reading measure(long now) {
    if (nvml.call("nvmlGpmSampleGet", device, later) != Nvml.SUCCESS) {
      return Reading.NONE;
    }
    request.set(JAVA_INT, 0, VERSION);
    request.set(JAVA_INT, 4, 2);
    request.set(ADDRESS, SAMPLE_1, earlier);
    request.set(ADDRESS, SAMPLE_2, later);
    request.set(JAVA_INT, METRICS, SM_UTIL);
    request.set(JAVA_INT, METRICS + METRIC_BYTES, SM_OCCUPANCY);
    boolean read = nvml.call("nvmlGpmMetricsGet", request) == Nvml.SUCCESS;
    OptionalDouble activity = read ? share(METRICS) : OptionalDouble.empty();
    if (activity.isEmpty()) {
      return Reading.NONE;
    }
    MemorySegment former = earlier;
    earlier = later;
    earlierNanos = now;
    later = former;
    return new Reading(activity, share(METRICS + METRIC_BYTES));
  }

  /** The value of a metric; empty where there is none of it. */
  private OptionalDouble share(long metric) {
    double share = request.get(JAVA_DOUBLE, metric + 8) / PERCENT;
    return request.get(JAVA_INT, metric + 4) == Nvml.SUCCESS && Double.isFinite(share)
        ? OptionalDouble.of(Math.clamp(share, 0.0, 1.0))
        : OptionalDouble.empty();
  }

  void close() {
    nvml.call("nvmlGpmSampleFree", earlier);
    nvml.call("nvmlGpmSampleFree", later);
  }
}
