package io.pipelane.lanes.cpu;

import java.lang.foreign.MemorySegment;

/** The memory of a device that sessions use: ranges, by the addresses they begin at, and states. */
public interface SessionRanges {
  /** Puts memory under a range for a while, see {@link CpuAddressRange#scratch}. */
  Scratch scratch(long address);

  /** Where what is read in place can be seen, see {@link CpuAddressRange#windowAddress}. */
  long windowAddress(long address);

  /** Whether some memory is of the device's {@link io.pipelane.lanes.DeviceStates}. */
  boolean isState(MemorySegment segment);

  /** Memory under a range, until it is closed. */
  @FunctionalInterface
  interface Scratch extends AutoCloseable {
    @Override
    void close();
  }
}
