package io.pipelane.lanes.process.worker;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.process.channel.ProtocolException;
import java.lang.foreign.MemorySegment;

/**
 * The server's memory that runs here read and write where it lies, under one count of bytes: its
 * transfer memory, and behind it what models keep on the device. Safe for any thread.
 */
record ServerMemory(MemorySegment transferMemory, States states) {
  /** None. */
  static final ServerMemory NONE =
      new ServerMemory(
          MemorySegment.NULL,
          (offset, bytes) -> {
            throw new ProtocolException("the server has no states on the device");
          });

  /** The server's states as this process has them. */
  @FunctionalInterface
  interface States {
    /**
     * Maps some of them.
     *
     * @throws IllegalArgumentException when the server has none there
     * @throws StatusException when they cannot be mapped
     */
    MemorySegment at(long offset, long bytes);
  }

  /** Whether something of the server's is a state, in memory of the device. */
  boolean isState(long offset) {
    return offset >= transferMemory.byteSize();
  }

  MemorySegment at(long offset, long bytes) {
    return isState(offset)
        ? states.at(offset - transferMemory.byteSize(), bytes)
        : transferMemory.asSlice(offset, bytes);
  }
}
