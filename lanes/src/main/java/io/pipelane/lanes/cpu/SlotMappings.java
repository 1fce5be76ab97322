package io.pipelane.lanes.cpu;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.cpu.CpuPagePool.Shown;
import org.jspecify.annotations.Nullable;

/**
 * What lies under the slots of an address range: pages' own memory, or the parts of files that they
 * show. Guarded by the range's monitor.
 */
final class SlotMappings {
  /*
   * A slot that has a file under it is unmapped otherwise than one with memory, whatever its page
   * shows by then. Two calls put it back to memory: first the file's tables move away, then the
   * memory's move there. Whoever reads between them faults the file in, so he reads the same all
   * along.
   */
  private final CpuPagePool pages;
  private final long address;
  private final long pageBytes;
  private final @Nullable Shown[] shows; // what of a file lies under a slot

  /** Nothing lies under slots from an address on. */
  SlotMappings(CpuPagePool pages, long address, int slots) {
    this.pages = pages;
    this.address = address;
    this.pageBytes = pages.lent().pageBytes();
    this.shows = new @Nullable Shown[slots];
  }

  /** Whether a file lies under a slot. */
  boolean showsFile(int slot) {
    return shows[slot] != null;
  }

  /** Notes what of a file lies under a slot; the file stands as long as somebody has it there. */
  void note(int slot, @Nullable Shown part) {
    if (part != null) {
      part.file().use();
    }
    Shown former = shows[slot];
    shows[slot] = part;
    if (former != null) {
      former.file().leave();
    }
  }

  /**
   * Puts parts of a file under slots, which is not noted yet; false where the system refuses, when
   * there is nothing under them.
   *
   * @param shift from a slot's number to its part's
   */
  boolean show(StandingFile file, int first, int count, int shift) {
    try {
      file.showAt(addressOf(first), first + shift, count);
      return true;
    } catch (StatusException e) {
      LibC.mapNothingAt(addressOf(first), count * pageBytes);
      file.refuse(e);
      return false;
    }
  }

  /** Puts a page under a slot; false where the system refuses, when there is nothing under it. */
  boolean map(int slot, Page page) {
    Shown part = pages.shownBy(page);
    boolean lies = true;
    if (part == null) {
      pages.mapAt(addressOf(slot), page);
    } else {
      lies = show(part.file(), slot, 1, part.part() - slot);
    }
    note(slot, lies ? part : null);
    return lies;
  }

  /** Takes a page from under a slot. */
  void unmap(int slot, Page page) {
    Shown part = shows[slot];
    if (part == null) {
      pages.unmapAt(addressOf(slot), page);
    } else {
      part.file().hideAt(addressOf(slot), part.part());
      note(slot, null); // Not before it is hidden: until then it is to be hidden once more.
    }
  }

  /** Puts a page's own memory under a slot where a file lies, which is noted still. */
  void putBack(int slot, Page page) {
    Shown part = shows[slot];
    if (part != null) {
      part.file().takeBack(addressOf(slot), part.part());
    }
    pages.mapAt(addressOf(slot), page);
  }

  private long addressOf(int slot) {
    return address + slot * pageBytes;
  }
}
