package io.pipelane.lanes.execution;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.runtime.RepackedPlacement;

/** The destination of a thread's allocations for the time being. */
public sealed interface MemoryTarget {
  /**
   * Allocates, aligned to {@link EphemeralRegion#ALIGNMENT}.
   *
   * @return an address, or 0 when there is no room
   */
  long allocate(long bytes);

  /** What may be allocated before there is no room, as far as that is limited. */
  default long roomBytes() {
    return Long.MAX_VALUE;
  }

  /** Session constants: an account of the persistent memory. */
  record Persistent(PersistentMemory.Account account) implements MemoryTarget {
    @Override
    public long allocate(long bytes) {
      return account.allocate(bytes);
    }

    @Override
    public long roomBytes() {
      return account.roomBytes();
    }
  }

  /**
   * Repacked weights at their places in an address range, everything else elsewhere: of use for one
   * building of a session.
   */
  record Placed(RepackedPlacement places, MemoryTarget others) implements MemoryTarget {
    @Override
    public long allocate(long bytes) {
      long place = places.next(bytes);
      return place == 0 ? others.allocate(bytes) : place;
    }
  }

  /**
   * A lane's run-time memory.
   *
   * @param growth asked when the region's limit leaves no room
   */
  record Ephemeral(EphemeralRegion region, Growth growth) implements MemoryTarget {
    @Override
    public long allocate(long bytes) {
      long address = region.allocate(bytes);
      while (address == 0 && growth.grow(bytes)) {
        address = region.allocate(bytes);
      }
      return address;
    }
  }

  /** The way to raise a region's limit while an iteration runs. */
  @FunctionalInterface
  interface Growth {
    /**
     * Makes room for one more allocation.
     *
     * @return false when the device's memory does not allow it
     */
    boolean grow(long bytes);
  }
}
