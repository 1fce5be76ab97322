package io.pipelane.lanes.cuda;

import io.pipelane.lanes.cuda.driver.Mappings;
import java.util.BitSet;

/**
 * The actual and the planned memory under the slots of one range: brings the one to the other,
 * where and when it is told. Belongs to the copy thread.
 */
public final class SlotMappings {
  /*
   * `planned` is what the range's owner has asked for in the commands carried out so far, `actual`
   * what the driver has done. Each is a handle of memory, 0 for none. As they may differ, unmapping
   * can wait until nobody is in a hurry, and costs nothing when a page comes back to its slot.
   *
   * A slot in `unzeroed` is not settled before what is planned for it has been zeroed, even if that
   * lies there already. So no memory is ever settled that should be zeroes and is not, whatever
   * fails on the way.
   */

  private static final int LONGEST_RUN = 8;

  /** Takes no longer than the copies that are on their way when a transfer begins (InFlight). */
  private static final int SHORT_RUN = 2;

  /** The zeroing of mapped memory; it is done when this returns. */
  @FunctionalInterface
  interface Zeroing {
    void zero(long address, long bytes);
  }

  private final Mappings memory;
  private final Zeroing zeroing;
  private final long address;
  private final long pageBytes;
  private final long[] planned;
  private final long[] actual;
  private final BitSet unzeroed = new BitSet();
  private int unsettled;

  SlotMappings(Mappings memory, Zeroing zeroing, long address, long pageBytes, int slots) {
    this.memory = memory;
    this.zeroing = zeroing;
    this.address = address;
    this.pageBytes = pageBytes;
    this.planned = new long[slots];
    this.actual = new long[slots];
  }

  /** Mappings of memory that is for reading only. */
  public static SlotMappings forReading(Mappings memory, long address, long pageBytes, int slots) {
    Zeroing refused =
        (at, bytes) -> {
          throw new IllegalStateException("memory for reading cannot be zeroed");
        };
    return new SlotMappings(memory, refused, address, pageBytes, slots);
  }

  /** Notes what should lie under a slot: a page's handle, or 0. */
  public void plan(int slot, long handle) {
    plan(slot, handle, false);
  }

  /**
   * The same.
   *
   * @param zeroed whether the page is to be zeroed before it is settled
   */
  public void plan(int slot, long handle, boolean zeroed) {
    unsettled -= isSettled(slot) ? 0 : 1;
    planned[slot] = handle;
    unzeroed.set(slot, zeroed);
    unsettled += isSettled(slot) ? 0 : 1;
  }

  private boolean isSettled(int slot) {
    return planned[slot] == actual[slot] && !unzeroed.get(slot);
  }

  boolean isSettled() {
    return unsettled == 0;
  }

  /**
   * Settles the slots {@code [first, end)}, one call for access per run of newly mapped ones.
   *
   * @throws io.pipelane.lanes.cuda.driver.CudaException and the slot is left for another time
   */
  public void settle(int first, int end) {
    if (unsettled == 0) {
      return;
    }
    int slot = first;
    while (slot < end) {
      if (isSettled(slot)) {
        slot++;
      } else if (planned[slot] == 0) {
        unmap(slot++);
      } else {
        slot = mapRun(slot, end);
      }
    }
  }

  /** Settles everything. */
  public void settle() {
    settle(0, planned.length);
  }

  /**
   * Settles the first few of those before an end that are not settled.
   *
   * @return whether all of them are settled now
   */
  boolean settleNext(int end) {
    int slot = 0;
    while (slot < end && isSettled(slot)) {
      slot++;
    }
    int few = Math.min(end, slot + SHORT_RUN);
    settle(slot, few);
    return few == end || isSettled();
  }

  /** Settles a few slots, those that lack a page first; for when there is nothing else to do. */
  void settleSome() {
    int unwanted = -1;
    for (int slot = 0; slot < planned.length; slot++) {
      if (!isSettled(slot)) {
        if (planned[slot] != 0) {
          mapRun(slot, Math.min(planned.length, slot + LONGEST_RUN));
          return;
        }
        unwanted = slot;
      }
    }
    if (unwanted >= 0) {
      unmap(unwanted);
    }
  }

  /** Takes everything away. */
  public void clear() {
    for (int slot = 0; slot < planned.length; slot++) {
      plan(slot, 0);
    }
    settle();
  }

  /** Maps the run of slots that begins here and lacks its pages; answers the slot behind it. */
  private int mapRun(int first, int end) {
    int slot = first;
    try {
      while (slot < end && planned[slot] != 0 && !isSettled(slot)) {
        if (actual[slot] != 0) {
          unmap(slot);
        }
        memory.map(addressOf(slot), pageBytes, planned[slot]);
        slot++;
      }
      memory.allowAccess(addressOf(first), (slot - first) * pageBytes);
      zero(first, slot);
    } catch (RuntimeException e) {
      undo(first, slot, e);
      throw e;
    }
    for (int i = first; i < slot; i++) {
      actual[i] = planned[i];
      unzeroed.clear(i);
      unsettled--;
    }
    return slot;
  }

  private void zero(int first, int end) {
    for (int slot = unzeroed.nextSetBit(first);
        slot >= 0 && slot < end;
        slot = unzeroed.nextSetBit(slot + 1)) {
      zeroing.zero(addressOf(slot), pageBytes);
    }
  }

  private void undo(int first, int end, RuntimeException reason) {
    for (int slot = first; slot < end; slot++) {
      try {
        memory.unmap(addressOf(slot), pageBytes);
      } catch (RuntimeException e) {
        reason.addSuppressed(e);
      }
    }
  }

  private void unmap(int slot) {
    memory.unmap(addressOf(slot), pageBytes);
    actual[slot] = 0;
    unsettled -= planned[slot] == 0 ? 1 : 0;
  }

  private long addressOf(int slot) {
    return address + slot * pageBytes;
  }
}
