package io.pipelane.lanes.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;

/**
 * The server's memory that runs in workers read and write where it lies, under one count of bytes:
 * transfer memory, and behind it what models keep on the device.
 */
record SharedPlaces(MemorySegment transferMemory, DeviceStates states) {
  /** Where something lies, if there. */
  OptionalLong offsetOf(MemorySegment data) {
    if (!data.isNative()) {
      return OptionalLong.empty();
    }
    long offset = data.address() - transferMemory.address();
    boolean isTransfer =
        offset >= 0
            && offset < transferMemory.byteSize()
            && data.byteSize() <= transferMemory.byteSize() - offset;
    if (isTransfer) {
      return OptionalLong.of(offset);
    }
    OptionalLong inStates = states.offsetOf(data);
    return inStates.isPresent()
        ? OptionalLong.of(transferMemory.byteSize() + inStates.getAsLong())
        : inStates;
  }

  /**
   * Copies an output that the worker has left in the lane.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when it becomes a state, which had
   *     no room while the device could have written it
   */
  void copy(MemorySegment content, MemorySegment place) {
    if (states.areOnDevice() && states.offsetOf(place).isPresent()) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY, "there was no room for the state that a step has made");
    }
    place.copyFrom(content);
  }
}
