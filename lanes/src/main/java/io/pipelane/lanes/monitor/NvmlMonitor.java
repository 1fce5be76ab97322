package io.pipelane.lanes.monitor;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.monitor.DeviceSample.Health;
import io.pipelane.lanes.monitor.DeviceSample.Memory;
import io.pipelane.lanes.monitor.DeviceSample.Work;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/** A GPU as NVML tells of it. */
public final class NvmlMonitor implements DeviceMonitor {
  /*
   * A figure that the device does not have is empty. When NVML says that the device is gone
   * (GPU_IS_LOST, RESET_REQUIRED) the sample throws.
   */
  private static final int CLOCK_SM = 1;
  private static final int TEMPERATURE_GPU = 0;
  private static final int ECC_UNCORRECTED = 1;
  private static final int ECC_VOLATILE = 0;
  private static final int GPU_IS_LOST = 15;
  private static final int RESET_REQUIRED = 16;
  private static final double PERCENT = 100;
  private static final double MILLI = 1e3;

  private final Arena arena;
  private final Nvml nvml;
  private final MemorySegment device;
  private final MemorySegment result;
  private final Optional<GpmActivity> gpm;
  private final Optional<XidEvents> events;
  private OptionalDouble highestClock = OptionalDouble.empty();

  private NvmlMonitor(Arena arena, Nvml nvml, MemorySegment device) {
    this.arena = arena;
    this.nvml = nvml;
    this.device = device;
    this.result = arena.allocate(32, 8);
    this.gpm = GpmActivity.open(nvml, device, arena, System::nanoTime);
    this.events = XidEvents.open(nvml, device, arena);
  }

  /**
   * Looks at a GPU: the one that is where the driver says that it is, as NVML counts otherwise.
   *
   * @param ordinal as the driver counts; where it does not tell the place that is taken for NVML's
   *     order, unless CUDA_VISIBLE_DEVICES says otherwise
   * @throws StatusException {@link Status#UNAVAILABLE} saying why NVML cannot be used
   */
  public static NvmlMonitor open(int ordinal) {
    Nvml nvml = Nvml.load();
    Arena arena = Arena.ofShared();
    try {
      MemorySegment handle = arena.allocate(ADDRESS);
      if (!findByPlace(nvml, ordinal, arena, handle)) {
        findByIndex(nvml, ordinal, handle);
      }
      return new NvmlMonitor(arena, nvml, handle.get(ADDRESS, 0));
    } catch (RuntimeException e) {
      arena.close();
      throw e;
    }
  }

  private static boolean findByPlace(Nvml nvml, int ordinal, Arena arena, MemorySegment handle) {
    try {
      MemorySegment place = arena.allocateFrom(CudaDriver.load().busId(ordinal));
      return nvml.call("nvmlDeviceGetHandleByPciBusId_v2", place, handle) == Nvml.SUCCESS;
    } catch (StatusException e) {
      return false; // NVML may be there without CUDA.
    }
  }

  private static void findByIndex(Nvml nvml, int ordinal, MemorySegment handle) {
    int code =
        nvml.call(
            "nvmlDeviceGetHandleByIndex_v2",
            VisibleDevices.physical(System.getenv("CUDA_VISIBLE_DEVICES"), ordinal),
            handle);
    if (code != Nvml.SUCCESS) {
      throw new StatusException(
          Status.UNAVAILABLE, "no NVML: it answers " + code + " when asked for GPU " + ordinal);
    }
  }

  @Override
  public DeviceSample sample() {
    GpmActivity.Reading multiprocessors =
        gpm.map(GpmActivity::read).orElse(GpmActivity.Reading.NONE);
    return new DeviceSample(
        new Work(
            number("nvmlDeviceGetUtilizationRates", PERCENT),
            multiprocessors.activity(),
            multiprocessors.occupancy(),
            clock(),
            slowedBy()),
        Memory.ofDevice(memory()),
        new Health(
            number("nvmlDeviceGetPowerUsage", MILLI),
            number("nvmlDeviceGetTemperature", 1, TEMPERATURE_GPU),
            longNumber("nvmlDeviceGetTotalEccErrors", ECC_UNCORRECTED, ECC_VOLATILE)));
  }

  /**
   * Whether a function has written its result, which takes the device, what is meant of it, and a
   * pointer.
   */
  private boolean asked(String function, Integer... meant) {
    List<Object> arguments = new ArrayList<>();
    arguments.add(device);
    arguments.addAll(Arrays.asList(meant));
    arguments.add(result);
    int code = nvml.call(function, arguments.toArray());
    if (code == GPU_IS_LOST || code == RESET_REQUIRED) {
      throw new StatusException(
          Status.DEVICE_FAILURE, function + " says that the GPU is lost (" + code + ")");
    }
    return code == Nvml.SUCCESS;
  }

  /** What a function writes as an int, so many of which are one. */
  private OptionalDouble number(String function, double unit, Integer... meant) {
    return asked(function, meant)
        ? OptionalDouble.of(result.get(JAVA_INT, 0) / unit)
        : OptionalDouble.empty();
  }

  /** What a function writes as a long. */
  private OptionalLong longNumber(String function, Integer... meant) {
    return asked(function, meant)
        ? OptionalLong.of(result.get(JAVA_LONG, 0))
        : OptionalLong.empty();
  }

  private OptionalDouble clock() {
    if (highestClock.isEmpty()) { // Which takes a millisecond to ask for, ten times what others do.
      highestClock = number("nvmlDeviceGetMaxClockInfo", 1, CLOCK_SM);
    }
    OptionalDouble now = number("nvmlDeviceGetClockInfo", 1, CLOCK_SM);
    return now.isPresent() && highestClock.orElse(0) > 0
        ? OptionalDouble.of(Math.min(1, now.getAsDouble() / highestClock.getAsDouble()))
        : OptionalDouble.empty();
  }

  private OptionalLong slowedBy() {
    String renamed = "nvmlDeviceGetCurrentClocksEventReasons";
    return longNumber(nvml.has(renamed) ? renamed : "nvmlDeviceGetCurrentClocksThrottleReasons");
  }

  @Override
  public OptionalLong memoryBytes() {
    return longNumber("nvmlDeviceGetMemoryInfo"); // Total, free, used.
  }

  private OptionalDouble memory() {
    OptionalLong total = memoryBytes();
    return total.isPresent()
        ? OptionalDouble.of(
            result.getAtIndex(JAVA_LONG, 2) / (double) Math.max(1, total.getAsLong()))
        : OptionalDouble.empty();
  }

  @Override
  public List<DeviceError> errors() {
    return events.map(XidEvents::read).orElse(List.of());
  }

  @Override
  public String source() {
    return (gpm.isPresent() ? "NVML with GPM" : "NVML without GPM")
        + (events.isPresent() ? "" : ", errors unknown");
  }

  @Override
  public void close() {
    gpm.ifPresent(GpmActivity::close);
    events.ifPresent(XidEvents::close);
    arena.close();
  }
}
