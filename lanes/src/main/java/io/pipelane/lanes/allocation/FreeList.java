package io.pipelane.lanes.allocation;

import io.pipelane.lanes.EphemeralRegion;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A best-fit allocator of offsets in {@code [0, capacity)}, coalescing, aligned to {@link
 * EphemeralRegion#ALIGNMENT}. Not safe for several threads.
 *
 * <p>The same sequence of calls gives the same offsets: of the blocks that fit best, the lowest is
 * taken, from its beginning. Allocating and freeing take O(log n) in the number of free blocks.
 */
public final class FreeList {
  /*
   * Blocks tile [0, capacity) and know their neighbours; no two free blocks are neighbours. A block
   * is in `free`, by size and then offset, or in `allocated`, by offset, never in both. `last` is
   * the block that ends at the capacity; null when the capacity is 0.
   */

  private static final long ALIGNMENT = EphemeralRegion.ALIGNMENT;

  private static final class Block {
    long offset;
    long size;
    boolean free;
    @Nullable Block previous;
    @Nullable Block next;

    Block(long offset, long size) {
      this.offset = offset;
      this.size = size;
    }

    long end() {
      return offset + size;
    }

    int compareBySize(Block other) {
      return size == other.size
          ? Long.compare(offset, other.offset)
          : Long.compare(size, other.size);
    }
  }

  private final TreeSet<Block> free = new TreeSet<>(Block::compareBySize);
  private final Map<Long, Block> allocated = new HashMap<>();
  private final Block probe = new Block(0, 0);
  private @Nullable Block last;
  private long usedBytes;

  /** Where the highest allocation ends. */
  public long highestEnd() {
    return last == null ? 0 : last.free ? last.offset : last.end();
  }

  public long usedBytes() {
    return usedBytes;
  }

  /** What is allocated, by its offsets. */
  Set<Long> allocatedOffsets() {
    return Set.copyOf(allocated.keySet());
  }

  /**
   * Changes the capacity, rounded down to the alignment.
   *
   * @return false, and changes nothing, when an allocation lies beyond it
   */
  public boolean resize(long bytes) {
    long capacity = bytes & -ALIGNMENT;
    long kept = highestEnd();
    if (capacity < kept) {
      return false;
    }
    if (last != null && last.free) {
      free.remove(last);
      unlink(last);
    }
    if (capacity > kept) {
      Block tail = new Block(kept, capacity - kept);
      linkAfter(last, tail);
      release(tail);
    }
    return true;
  }

  /**
   * Allocates.
   *
   * @param bytes rounded up to the alignment; zero takes as much as one
   * @return an offset, or -1 when no free block is large enough
   */
  public long allocate(long bytes) {
    long size = rounded(bytes);
    if (size < 0) {
      return -1;
    }
    probe.size = size;
    probe.offset = 0;
    Block block = free.ceiling(probe);
    if (block == null) {
      return -1;
    }
    free.remove(block);
    if (block.size > size) {
      Block rest = new Block(block.offset + size, block.size - size);
      block.size = size;
      linkAfter(block, rest);
      release(rest);
    }
    block.free = false;
    allocated.put(block.offset, block);
    usedBytes += size;
    return block.offset;
  }

  /**
   * Frees what {@link #allocate} returned.
   *
   * @return false, and changes nothing, when nothing is allocated at the offset
   */
  public boolean free(long offset) {
    Block block = allocated.remove(offset);
    if (block == null) {
      return false;
    }
    usedBytes -= block.size;
    Block next = block.next;
    if (next != null && next.free) {
      free.remove(next);
      block.size += next.size;
      unlink(next);
    }
    Block previous = block.previous;
    if (previous != null && previous.free) {
      free.remove(previous);
      previous.size += block.size;
      unlink(block);
      release(previous);
    } else {
      release(block);
    }
    return true;
  }

  /** A size rounded up to the alignment, at least one of it; negative when that overflows. */
  public static long rounded(long bytes) {
    return (Math.max(bytes, 1) + ALIGNMENT - 1) & -ALIGNMENT;
  }

  private void release(Block block) {
    block.free = true;
    free.add(block);
  }

  private void linkAfter(@Nullable Block block, Block added) {
    added.previous = block;
    if (block != null) {
      added.next = block.next;
      block.next = added;
    }
    if (added.next != null) {
      added.next.previous = added;
    } else {
      last = added;
    }
  }

  private void unlink(Block block) {
    if (block.previous != null) {
      block.previous.next = block.next;
    }
    if (block.next != null) {
      block.next.previous = block.previous;
    } else {
      last = block.previous;
    }
  }
}
