package io.pipelane.lanes.cuda;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.allocation.FreeList;

/**
 * Blocks of device memory that grows with what is allocated, and shrinks where its end is free.
 * Work on the device must be done with a block before it is released.
 */
public final class CudaHeap implements PersistentMemory.Heap, AutoCloseable {
  /** What is left free at the end before memory is given back: neighbours may soon ask again. */
  private static final long SLACK_BYTES = 32L << 20;

  private final GrowingMemory memory;
  private final FreeList blocks = new FreeList();
  private long capacity;

  /**
   * Nothing is allocated.
   *
   * @param memory closed with this
   */
  public CudaHeap(GrowingMemory memory) {
    this.memory = memory;
  }

  @Override
  public long rounded(long bytes) {
    return FreeList.rounded(bytes);
  }

  @Override
  public synchronized long take(long bytes) {
    long offset = blocks.allocate(bytes);
    if (offset < 0 && grow(bytes)) {
      offset = blocks.allocate(bytes);
    }
    return offset < 0 ? 0 : memory.address() + offset;
  }

  @Override
  public synchronized void release(long address, long bytes) {
    blocks.free(address - memory.address());
    if (capacity - blocks.highestEnd() > SLACK_BYTES) {
      resize(blocks.highestEnd());
    }
  }

  /** What the device gives for it at present. */
  public long byteSize() {
    return memory.byteSize();
  }

  private boolean grow(long bytes) {
    long wanted = blocks.highestEnd() + bytes;
    if (wanted < 0 || wanted > memory.maximumBytes()) {
      return false;
    }
    try {
      resize(wanted);
      return true;
    } catch (StatusException e) {
      if (e.status() == Status.INSUFFICIENT_MEMORY) {
        return false;
      }
      throw e;
    }
  }

  private void resize(long bytes) {
    if (bytes > capacity) {
      memory.resize(bytes);
      capacity = memory.byteSize();
      blocks.resize(capacity);
    } else {
      capacity = memory.roundedUp(bytes);
      blocks.resize(capacity);
      memory.resize(capacity);
    }
  }

  @Override
  public synchronized void close() {
    memory.close();
  }
}
