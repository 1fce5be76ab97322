package io.pipelane.lanes.cpu;

import java.lang.foreign.MemorySegment;

/**
 * Memory without a file name that other processes could map too, by its descriptor. Safe for any
 * thread; dead after {@link #close}.
 */
public final class SharedMemory implements AutoCloseable {
  private final int descriptor;
  private final MemorySegment segment;
  private boolean closed;

  private SharedMemory(int descriptor, MemorySegment segment) {
    this.descriptor = descriptor;
    this.segment = segment;
  }

  /**
   * Takes zeroed memory; the system fills it in as it is touched.
   *
   * @param name seen in the system's tables only
   * @param bytes rounded up to whole pages of the system
   * @throws io.pipelane.config.StatusException when there is none
   */
  public static SharedMemory allocate(String name, long bytes) {
    long size = LibC.wholePages(bytes);
    int descriptor = LibC.memfdCreate(name);
    long address = 0;
    try {
      LibC.ftruncate(descriptor, size);
      address = LibC.mapNothing(size);
      LibC.mapFileAt(address, size, descriptor, 0, false);
      return new SharedMemory(descriptor, MemorySegment.ofAddress(address).reinterpret(size));
    } catch (RuntimeException e) {
      if (address != 0) {
        LibC.munmap(address, size);
      }
      LibC.close(descriptor);
      throw e;
    }
  }

  /** All of it, in whole pages of the system. */
  public MemorySegment segment() {
    return segment;
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      LibC.munmap(segment.address(), segment.byteSize());
      LibC.close(descriptor);
    }
  }
}
