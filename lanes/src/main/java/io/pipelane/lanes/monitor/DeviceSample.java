package io.pipelane.lanes.monitor;

import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * A device at one moment; what is not measured is empty. Shares are between 0 and 1.
 *
 * @param utilization of the time, that in which something ran
 * @param activity of the multiprocessors or cores, those that were busy
 * @param clock of the highest, that of multiprocessors or cores
 * @param memory of the device's memory, what is taken
 * @param memoryPressure of the time, that in which some task of the host waited for memory
 * @param hostMemory of the host's memory, what is taken
 * @param watts that it draws
 * @param celsius its temperature
 * @param eccErrors memory errors that were not corrected, since the driver was loaded
 * @param slowedBy why its clock is not higher, as NVML's bits
 */
public record DeviceSample(
    OptionalDouble utilization,
    OptionalDouble activity,
    OptionalDouble clock,
    OptionalDouble memory,
    OptionalDouble memoryPressure,
    OptionalDouble hostMemory,
    OptionalDouble watts,
    OptionalDouble celsius,
    OptionalLong eccErrors,
    OptionalLong slowedBy) {
  public static final DeviceSample UNKNOWN =
      new DeviceSample(
          OptionalDouble.empty(),
          OptionalDouble.empty(),
          OptionalDouble.empty(),
          OptionalDouble.empty(),
          OptionalDouble.empty(),
          OptionalDouble.empty(),
          OptionalDouble.empty(),
          OptionalDouble.empty(),
          OptionalLong.empty(),
          OptionalLong.empty());

  private static final long GPU_IDLE = 1;
  private static final double BUSY = 0.5;

  /** The same device, with what its host tells of its memory. */
  DeviceSample onHost(OptionalDouble pressure, OptionalDouble taken) {
    return new DeviceSample(
        utilization, activity, clock, memory, pressure, taken, watts, celsius, eccErrors, slowedBy);
  }

  /** The same device, its activity as somebody has estimated it where it is not measured. */
  public DeviceSample withActivity(double estimated) {
    return activity.isPresent()
        ? this
        : new DeviceSample(
            utilization,
            OptionalDouble.of(estimated),
            clock,
            memory,
            memoryPressure,
            hostMemory,
            watts,
            celsius,
            eccErrors,
            slowedBy);
  }

  /** Whether it has so much to do that its clock says something of its health. */
  public boolean isBusy() {
    boolean idle = (slowedBy.orElse(0) & GPU_IDLE) != 0;
    return !idle && utilization.orElse(0) >= BUSY;
  }
}
