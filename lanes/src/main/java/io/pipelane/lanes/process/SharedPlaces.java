package io.pipelane.lanes.process;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.allocation.TransferMemory;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;

/**
 * The server's memory that runs in workers read and write where it lies, under one count of bytes:
 * transfer memory, and behind it what models keep on the device.
 */
record SharedPlaces(TransferMemory transfers, DeviceStates states) {
  MemorySegment transferMemory() {
    return transfers.memory();
  }

  /** Where something lies, if there. */
  OptionalLong offsetOf(MemorySegment data) {
    if (!data.isNative()) {
      return OptionalLong.empty();
    }
    MemorySegment transferMemory = transferMemory();
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

  /** Whether something lies in memory of the device. */
  boolean isOnDevice(MemorySegment data) {
    return states.areOnDevice() && states.offsetOf(data).isPresent();
  }

  /** Whether workers' runs write anywhere else than to their lanes. */
  boolean areWritten() {
    return transferMemory().byteSize() > 0 || states.areOnDevice();
  }

  /**
   * Copies an output that the worker has left in the lane.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when it becomes a state, which had no room
   *     while the device could have written it
   */
  void copy(MemorySegment content, MemorySegment place) {
    if (isOnDevice(place)) {
      throw StatusException.unavailable(
          "there was no room for the state that a step has made; try again");
    }
    place.copyFrom(content);
  }
}
