package io.pipelane.lanes.cpu;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;

/** Memory from the C heap, or from the system directly where it is large. */
public final class CpuHeap implements PersistentMemory.Heap {
  /** From here on memory is mapped, so that freeing gives it back to the system. */
  private static final long MAPPED_BYTES = 256 << 10;

  @Override
  public long rounded(long bytes) {
    long alignment = bytes >= MAPPED_BYTES ? LibC.SYSTEM_PAGE_BYTES : EphemeralRegion.ALIGNMENT;
    return (Math.max(bytes, 1) + alignment - 1) & -alignment;
  }

  @Override
  public long take(long bytes) {
    try {
      return bytes >= MAPPED_BYTES
          ? LibC.mapMemory(bytes)
          : LibC.alignedAlloc(EphemeralRegion.ALIGNMENT, bytes);
    } catch (StatusException e) {
      if (e.status() == Status.INSUFFICIENT_MEMORY) {
        return 0;
      }
      throw e;
    }
  }

  @Override
  public void release(long address, long bytes) {
    if (bytes >= MAPPED_BYTES) {
      LibC.munmap(address, bytes);
    } else {
      LibC.free(address);
    }
  }
}
