package io.pipelane.lanes.allocation;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A stand-in heap for memory that worker processes take: allocations have addresses, so that
 * accounts can tell them apart, and nothing lies there.
 */
public final class ElsewhereHeap implements PersistentMemory.Heap {
  private final AtomicLong next = new AtomicLong(EphemeralRegion.ALIGNMENT);

  @Override
  public long rounded(long bytes) {
    return Math.max(1, bytes);
  }

  @Override
  public long take(long bytes) {
    return next.getAndAdd(bytes);
  }

  @Override
  public void release(long address, long bytes) {
    // There is nothing to give back.
  }
}
