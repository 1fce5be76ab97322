package io.pipelane.lanes.allocation;

import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Host memory of a fixed size that requests and answers lie in on their way, lent in stretches. It
 * is of a kind that the device copies from and to directly. It is used over and over, so that the
 * system fills it in once. Safe for any thread, and never waits for room.
 */
public final class TransferMemory implements AutoCloseable {
  private final MemorySegment memory;
  private final FreeList stretches = new FreeList();

  /** How many may write to what they were lent although it is given back. */
  private int withheld;

  /** What they were lent, among others, by offsets; not lent anew as long as they may write. */
  private final Set<Long> doubtful = new HashSet<>();

  /** Those of them that are given back. */
  private final Set<Long> setAside = new HashSet<>();

  /**
   * Lends memory.
   *
   * @param memory the owner's, to be given back after this object's {@link #close}
   */
  public TransferMemory(MemorySegment memory) {
    this.memory = memory;
    stretches.resize(memory.byteSize());
  }

  /**
   * Lends a stretch of undefined content, aligned to {@link
   * io.pipelane.lanes.EphemeralRegion#ALIGNMENT}.
   *
   * @return null when there is none that large
   */
  public synchronized @Nullable MemorySegment take(long bytes) {
    long offset = stretches.allocate(bytes);
    return offset < 0 ? null : memory.asSlice(offset, bytes);
  }

  /** Takes back what {@link #take} has lent; nobody uses it any more. */
  public synchronized void giveBack(MemorySegment stretch) {
    long offset = stretch.address() - memory.address();
    if (!doubtful.contains(offset)) {
      free(offset);
    } else if (!setAside.add(offset)) {
      throw notLent(offset);
    }
  }

  private void free(long offset) {
    if (!stretches.free(offset)) {
      throw notLent(offset);
    }
  }

  private IllegalArgumentException notLent(long offset) {
    return new IllegalArgumentException("not lent: " + memory.asSlice(offset, 0));
  }

  /**
   * Has nothing lent again that is lent now, given back or not: somebody may write to it who cannot
   * be stopped. Ended by {@link #release}.
   */
  public synchronized void withhold() {
    withheld++;
    doubtful.addAll(stretches.allocatedOffsets());
  }

  /** Ends one {@link #withhold}. */
  public synchronized void release() {
    withheld--;
    if (withheld == 0) {
      setAside.forEach(this::free);
      setAside.clear();
      doubtful.clear();
    }
  }

  /** All of it. */
  public MemorySegment memory() {
    return memory;
  }

  /** What is lent, rounded up. */
  public synchronized long lentBytes() {
    return stretches.usedBytes();
  }

  /**
   * Lends nothing any more.
   *
   * @throws IllegalStateException while anything is lent
   */
  @Override
  public synchronized void close() {
    if (!stretches.resize(0)) {
      throw new IllegalStateException(
          stretches.usedBytes() + " bytes of requests and answers are still in use");
    }
  }
}
