package io.pipelane.lanes.cuda.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Device memory as a segment: it has an address and a size, and the host cannot touch it. */
public final class DeviceSegment {
  private DeviceSegment() {}

  /**
   * The segment of some addresses. Accesses are refused, as those to memory that was given back
   * are.
   */
  public static MemorySegment of(long address, long bytes) {
    try (Arena ended = Arena.ofConfined()) {
      return MemorySegment.ofAddress(address).reinterpret(bytes, ended, null);
    }
  }
}
