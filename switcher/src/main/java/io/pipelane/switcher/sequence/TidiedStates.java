package io.pipelane.switcher.sequence;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;

/**
 * A device's memory for states, of which other processes keep for a while what has been given back:
 * where there is none besides, they are asked to let go of it.
 *
 * @param tidy has them do so; blocks for a moment
 */
public record TidiedStates(DeviceStates device, Runnable tidy) implements DeviceStates {
  @Override
  public State take(long bytes) {
    try {
      return device.take(bytes);
    } catch (StatusException e) {
      if (e.status() != Status.INSUFFICIENT_MEMORY) {
        throw e;
      }
    }
    tidy.run();
    return device.take(bytes);
  }

  @Override
  public boolean areOnDevice() {
    return device.areOnDevice();
  }

  @Override
  public OptionalLong offsetOf(MemorySegment memory) {
    return device.offsetOf(memory);
  }
}
