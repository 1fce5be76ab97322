package io.pipelane.lanes.allocation;

import io.pipelane.lanes.PagePool.Page;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The page under each slot of an address range, and the slots that copies are writing. Not safe for
 * several threads.
 */
public final class PageSlots {
  private final LentPages pages;
  private final @Nullable Page[] slots;
  private final int[] copiesInFlight;
  private int mapped;

  public PageSlots(LentPages pages, int slots) {
    this.pages = pages;
    this.slots = new @Nullable Page[slots];
    this.copiesInFlight = new int[slots];
  }

  public int count() {
    return slots.length;
  }

  /** Number of slots with a page. */
  public int mapped() {
    return mapped;
  }

  /** The page under a slot, if there is one. */
  public @Nullable Page at(int slot) {
    return slots[slot];
  }

  /**
   * Checks that a page may be put under a slot.
   *
   * @throws IllegalStateException when the slot has a page already, or the page is not lent
   */
  public void requireFree(int slot, Page page) {
    Objects.checkIndex(slot, slots.length);
    if (slots[slot] != null) {
      throw new IllegalStateException("slot " + slot + " has " + slots[slot] + " already");
    }
    pages.requireLent(page);
  }

  /** Puts a page under a slot. */
  public void put(int slot, Page page) {
    requireFree(slot, page);
    slots[slot] = page;
    pages.mapped(page);
    mapped++;
  }

  /**
   * Checks that the page under a slot may be taken away.
   *
   * @return the page
   * @throws IllegalStateException when the slot has none, or a copy into it is in flight
   */
  public Page requireIdle(int slot) {
    Objects.checkIndex(slot, slots.length);
    Page page = slots[slot];
    if (page == null) {
      throw new IllegalStateException("slot " + slot + " has no page");
    }
    if (copiesInFlight[slot] > 0) {
      throw new IllegalStateException(
          "slot " + slot + " is being written by " + copiesInFlight[slot] + " copies; await them");
    }
    return page;
  }

  /** Takes the page from under a slot. */
  public Page remove(int slot) {
    Page page = requireIdle(slot);
    slots[slot] = null;
    pages.unmapped(page);
    mapped--;
    return page;
  }

  /**
   * Keeps the slots under a stretch from being taken away until {@link #unpin}.
   *
   * @throws IndexOutOfBoundsException when the stretch leaves the slots
   * @throws IllegalStateException when one of the slots has no page
   */
  public void pin(long offset, long bytes) {
    Objects.checkFromIndexSize(offset, bytes, slots.length * pages.pageBytes());
    for (int slot = firstSlot(offset); slot < endSlot(offset, bytes); slot++) {
      if (slots[slot] == null) {
        throw new IllegalStateException(
            "slot " + slot + " has no page; map it before copying to offset " + offset);
      }
    }
    for (int slot = firstSlot(offset); slot < endSlot(offset, bytes); slot++) {
      copiesInFlight[slot]++;
    }
  }

  /** Whether a copy into a slot is in flight. */
  public boolean isPinned(int slot) {
    return copiesInFlight[slot] > 0;
  }

  public void unpin(long offset, long bytes) {
    for (int slot = firstSlot(offset); slot < endSlot(offset, bytes); slot++) {
      copiesInFlight[slot]--;
    }
  }

  /** The slot that a stretch begins in. */
  public int firstSlot(long offset) {
    return (int) (offset / pages.pageBytes());
  }

  /** The slot behind the last that a stretch touches; the first for an empty one. */
  public int endSlot(long offset, long bytes) {
    return bytes == 0 ? firstSlot(offset) : (int) ((offset + bytes - 1) / pages.pageBytes()) + 1;
  }
}
