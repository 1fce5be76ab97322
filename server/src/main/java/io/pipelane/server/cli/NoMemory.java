package io.pipelane.server.cli;

import io.pipelane.runtime.DeviceAllocator;

/** The allocator of an environment that only tells its version: it has nothing to give. */
final class NoMemory implements DeviceAllocator {
  @Override
  public long allocate(long bytes) {
    return 0;
  }

  @Override
  public void free(long address) {
    throw new IllegalArgumentException("nothing was allocated");
  }
}
