package io.pipelane.lanes.allocation;

import io.pipelane.lanes.EphemeralRegion;
import java.util.concurrent.locks.ReentrantLock;

/** A region whose blocks are found by a {@link FreeList}; the memory under it is the device's. */
public abstract class BlockRegion implements EphemeralRegion {
  private final long maximumBytes;
  private final ReentrantLock lock = new ReentrantLock();
  private final FreeList blocks = new FreeList();
  private volatile long limitBytes; // written under the lock
  private long peakBytes;
  private boolean closed;

  protected BlockRegion(long maximumBytes) {
    this.maximumBytes = maximumBytes;
  }

  /**
   * Makes memory usable from the beginning up to a higher limit. Nothing has changed when it
   * throws.
   */
  protected abstract void grow(long oldBytes, long newBytes);

  /** Gives memory beyond a lower limit back. */
  protected abstract void shrink(long oldBytes, long newBytes);

  /** Gives all memory and the addresses back. */
  protected abstract void release();

  @Override
  public final long maximumBytes() {
    return maximumBytes;
  }

  @Override
  public final long limitBytes() {
    return limitBytes;
  }

  @Override
  public final void limit(long bytes) {
    if (bytes < 0 || bytes > maximumBytes) {
      throw new IllegalArgumentException(
          "a limit of %d bytes is outside [0, %d]".formatted(bytes, maximumBytes));
    }
    lock.lock();
    try {
      requireOpen();
      if (bytes > limitBytes) {
        grow(limitBytes, bytes);
      }
      if (!blocks.resize(bytes)) {
        throw new IllegalArgumentException(
            "a limit of %d bytes is below the end of what is in use, %d"
                .formatted(bytes, blocks.highestEnd()));
      }
      long before = limitBytes;
      limitBytes = bytes;
      if (bytes < before) {
        shrink(before, bytes);
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public final long allocate(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("cannot allocate " + bytes + " bytes");
    }
    lock.lock();
    try {
      requireOpen();
      long offset = blocks.allocate(bytes);
      peakBytes = Math.max(peakBytes, blocks.highestEnd());
      return offset < 0 ? 0 : address() + offset;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public final void free(long address) {
    lock.lock();
    try {
      requireOpen();
      if (!blocks.free(address - address())) {
        throw new IllegalArgumentException(
            "nothing is allocated at 0x" + Long.toHexString(address) + " in this region");
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public final long usedBytes() {
    lock.lock();
    try {
      return blocks.usedBytes();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public final long peakBytes() {
    lock.lock();
    try {
      return peakBytes;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public final void resetPeak() {
    lock.lock();
    try {
      peakBytes = blocks.highestEnd();
    } finally {
      lock.unlock();
    }
  }

  /** Notes that somebody else has allocated in this memory, up to an end. */
  protected final void allocatedElsewhere(long end) {
    lock.lock();
    try {
      peakBytes = Math.max(peakBytes, end);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public final void close() {
    lock.lock();
    try {
      if (!closed) {
        release();
        closed = true;
      }
    } finally {
      lock.unlock();
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the region is closed");
    }
  }
}
