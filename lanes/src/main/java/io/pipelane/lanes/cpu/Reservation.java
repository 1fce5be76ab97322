package io.pipelane.lanes.cpu;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A stretch of addresses that belongs to one owner until it is closed; what lies under them is the
 * owner's business. Its {@link #memory} is dead once it is closed.
 */
public final class Reservation implements AutoCloseable {
  private final Arena arena = Arena.ofShared();
  private final long base;
  private final long reservedBytes;
  private final long address;
  private final MemorySegment memory;

  private Reservation(long base, long reservedBytes, long address, long bytes) {
    this.base = base;
    this.reservedBytes = reservedBytes;
    this.address = address;
    this.memory = MemorySegment.ofAddress(address).reinterpret(bytes, arena, null);
  }

  /**
   * Reserves addresses.
   *
   * @param bytes a multiple of the system's page size
   * @param alignment a power of two, at least the system's page size
   */
  public static Reservation of(long bytes, long alignment) {
    long reserved = Math.addExact(bytes, alignment - LibC.SYSTEM_PAGE_BYTES);
    long base = LibC.mapNothing(reserved);
    return new Reservation(base, reserved, (base + alignment - 1) & -alignment, bytes);
  }

  public long address() {
    return address;
  }

  MemorySegment memory() {
    return memory;
  }

  /**
   * Unmaps the addresses and all that lies under them; may be tried again where that failed.
   *
   * @throws IllegalStateException while somebody accesses the memory
   */
  @Override
  public void close() {
    if (arena.scope().isAlive()) {
      arena.close();
    }
    LibC.munmap(base, reservedBytes);
  }
}
