package io.pipelane.lanes.cuda;

import io.pipelane.lanes.cuda.driver.Mappings;

/**
 * What lies under the slots of one range and what should: brings the one to the other, where and
 * when it is told. Belongs to the copy thread.
 */
final class SlotMappings {
  /*
   * `planned` is what the range's owner has asked for in the commands carried out so far, `actual`
   * what the driver has done; each is a handle of memory, 0 for none. That they may differ lets
   * unmapping wait until nobody is in a hurry, and costs nothing when a page comes back to its slot.
   */

  private static final int LONGEST_RUN = 8;

  private final Mappings memory;
  private final long address;
  private final long pageBytes;
  private final long[] planned;
  private final long[] actual;
  private int unsettled;

  SlotMappings(Mappings memory, long address, long pageBytes, int slots) {
    this.memory = memory;
    this.address = address;
    this.pageBytes = pageBytes;
    this.planned = new long[slots];
    this.actual = new long[slots];
  }

  /** Notes what should lie under a slot: a page's handle, or 0. */
  void plan(int slot, long handle) {
    unsettled -= planned[slot] == actual[slot] ? 0 : 1;
    planned[slot] = handle;
    unsettled += planned[slot] == actual[slot] ? 0 : 1;
  }

  boolean isSettled() {
    return unsettled == 0;
  }

  /**
   * Settles the slots {@code [first, end)}, one call for access per run of newly mapped ones.
   *
   * @throws io.pipelane.lanes.cuda.driver.CudaException and the slot is left for another time
   */
  void settle(int first, int end) {
    if (unsettled == 0) {
      return;
    }
    int slot = first;
    while (slot < end) {
      if (planned[slot] == actual[slot]) {
        slot++;
      } else if (planned[slot] == 0) {
        unmap(slot++);
      } else {
        slot = mapRun(slot, end);
      }
    }
  }

  /** Settles everything. */
  void settle() {
    settle(0, planned.length);
  }

  /** Settles a few slots, those that lack a page first; for when there is nothing else to do. */
  void settleSome() {
    int unwanted = -1;
    for (int slot = 0; slot < planned.length; slot++) {
      if (planned[slot] != actual[slot]) {
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
  void clear() {
    for (int slot = 0; slot < planned.length; slot++) {
      plan(slot, 0);
    }
    settle();
  }

  /** Maps the run of slots that begins here and lacks its pages; answers the slot behind it. */
  private int mapRun(int first, int end) {
    int slot = first;
    try {
      while (slot < end && planned[slot] != 0 && planned[slot] != actual[slot]) {
        if (actual[slot] != 0) {
          unmap(slot);
        }
        memory.map(addressOf(slot), pageBytes, planned[slot]);
        slot++;
      }
      memory.allowAccess(addressOf(first), (slot - first) * pageBytes);
    } catch (RuntimeException e) {
      undo(first, slot, e);
      throw e;
    }
    for (int i = first; i < slot; i++) {
      actual[i] = planned[i];
      unsettled--;
    }
    return slot;
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
