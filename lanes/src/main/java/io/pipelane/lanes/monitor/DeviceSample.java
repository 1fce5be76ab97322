package io.pipelane.lanes.monitor;

import java.util.OptionalDouble;
import java.util.OptionalLong;

/** A device at one moment; what is not measured is empty. Shares are between 0 and 1. */
public record DeviceSample(Work work, Memory memory, Health health) {
  public static final DeviceSample UNKNOWN =
      new DeviceSample(Work.UNKNOWN, Memory.UNKNOWN, Health.UNKNOWN);

  /**
   * The device's load and speed.
   *
   * @param utilization of the time, that in which something ran
   * @param activity of the multiprocessors or cores, those that were busy
   * @param occupancy of the threads that all multiprocessors can hold, those that they held
   * @param clock of the highest, that of multiprocessors or cores
   * @param slowedBy why its clock is not higher, as NVML's bits
   */
  public record Work(
      OptionalDouble utilization,
      OptionalDouble activity,
      OptionalDouble occupancy,
      OptionalDouble clock,
      OptionalLong slowedBy) {
    public static final Work UNKNOWN =
        new Work(
            OptionalDouble.empty(),
            OptionalDouble.empty(),
            OptionalDouble.empty(),
            OptionalLong.empty());

    private static final long GPU_IDLE = 1;
    private static final double BUSY = 0.5;

    /** Of a device whose occupancy is not measured. */
    public Work(
        OptionalDouble utilization,
        OptionalDouble activity,
        OptionalDouble clock,
        OptionalLong slowedBy) {
      this(utilization, activity, OptionalDouble.empty(), clock, slowedBy);
    }

    /** Whether it has so much to do that its clock says something of its health. */
    public boolean isBusy() {
      boolean idle = (slowedBy.orElse(0) & GPU_IDLE) != 0;
      return !idle && utilization.orElse(0) >= BUSY;
    }
  }

  /**
   * The memory pressure of the device and its host.
   *
   * @param taken of the device's memory
   * @param hostPressure of the time, that in which some task of the host waited for memory
   * @param hostTaken of the host's memory
   */
  public record Memory(
      OptionalDouble taken, OptionalDouble hostPressure, OptionalDouble hostTaken) {
    public static final Memory UNKNOWN = ofDevice(OptionalDouble.empty());

    /** Of a device whose host nobody looks at. */
    public static Memory ofDevice(OptionalDouble taken) {
      return new Memory(taken, OptionalDouble.empty(), OptionalDouble.empty());
    }
  }

  /**
   * The device's power, temperature and memory errors.
   *
   * @param watts that it draws
   * @param celsius its temperature
   * @param eccErrors memory errors that were not corrected, since the driver was loaded
   */
  public record Health(OptionalDouble watts, OptionalDouble celsius, OptionalLong eccErrors) {
    public static final Health UNKNOWN =
        new Health(OptionalDouble.empty(), OptionalDouble.empty(), OptionalLong.empty());
  }

  /** The same device, with what its host tells of its memory. */
  DeviceSample onHost(OptionalDouble pressure, OptionalDouble taken) {
    return new DeviceSample(work, new Memory(memory.taken, pressure, taken), health);
  }

  /** The same device, its activity as somebody has estimated it where it is not measured. */
  public DeviceSample withActivity(double estimated) {
    return work.activity.isPresent()
        ? this
        : new DeviceSample(
            new Work(
                work.utilization,
                OptionalDouble.of(estimated),
                work.occupancy,
                work.clock,
                work.slowedBy),
            memory,
            health);
  }
}
