package io.pipelane.lanes;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;

/**
 * A device's memory for what models keep from one run to the next. What lies there outlives worker
 * processes, and runs read and write it past the host. Safe for any thread.
 */
public interface DeviceStates {
  /** Of a device whose memory is the host's. */
  DeviceStates ON_HOST = HostState::take;

  /**
   * Takes memory, zeroed; a platform thread may be blocked by that.
   *
   * @param bytes 0 has an address too
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} when there is none
   */
  State take(long bytes);

  /**
   * Whether the host cannot touch what lies here: its segments are addresses of the device, and an
   * access to one is refused with an exception.
   */
  default boolean areOnDevice() {
    return false;
  }

  /** Where in all of this memory a segment lies, as worker processes know it; empty elsewhere. */
  default OptionalLong offsetOf(MemorySegment memory) {
    return OptionalLong.empty();
  }

  /** Some of the memory. No run may read or write it while any of this is done. */
  interface State extends AutoCloseable {
    /** What a run is given to read or to write. */
    MemorySegment memory();

    /**
     * Copies all of it to the host; blocks.
     *
     * @throws StatusException {@link Status#DEVICE_FAILURE} when the device fails
     */
    void read(MemorySegment host);

    /**
     * Copies all of it from the host; blocks.
     *
     * @throws StatusException {@link Status#DEVICE_FAILURE} when the device fails
     */
    void write(MemorySegment host);

    /** Gives it back. */
    @Override
    void close();
  }
}
