package io.pipelane.lanes.cpu;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.cpu.CpuPagePool.Shown;
import java.util.BitSet;
import java.util.function.IntConsumer;
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
   *
   * Where a page is given back that shows a file, the file is left under the slot; nobody reads
   * there. If the slot is to show the same part again, as after an eviction, that takes no system
   * call, and the processors keep what they know of the addresses. Whatever else is to lie there has
   * the file's tables brought back first. While they are left under one range's slots another range
   * that shows the same has its own written as memory is touched. No more parts are left than there
   * are pages, and none of files whose parts never become one mapping again, as the system bounds
   * the number of mappings.
   */
  private final CpuPagePool pages;
  private final long address;
  private final long pageBytes;
  private final @Nullable Shown[] shows; // what of a file lies under a slot
  private final BitSet left = new BitSet(); // slots that have no page any more, but what it showed

  /** Nothing lies under slots from an address on. */
  SlotMappings(CpuPagePool pages, long address, int slots) {
    this.pages = pages;
    this.address = address;
    this.pageBytes = pages.lent().pageBytes();
    this.shows = new @Nullable Shown[slots];
  }

  /** Whether a file lies under a slot for the page that is there. */
  boolean showsFile(int slot) {
    return shows[slot] != null && !left.get(slot);
  }

  /** Whether parts of a file lie under slots that other pages have left. */
  boolean hasLeft(StandingFile file, int first, int count, int shift) {
    if (left.nextClearBit(first) < first + count) {
      return false;
    }
    for (int slot = first; slot < first + count; slot++) {
      Shown part = shows[slot];
      if (part == null || !part.file().equals(file) || part.part() != slot + shift) {
        return false;
      }
    }
    return true;
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
    if (hasLeft(file, first, count, shift)) {
      countLeftNoMore(first, count);
      return true;
    }
    try {
      clear(first, count);
      file.showAt(addressOf(first), first + shift, count);
      return true;
    } catch (StatusException e) {
      LibC.mapNothingAt(addressOf(first), count * pageBytes);
      eachLeft(first, count, slot -> note(slot, null));
      file.refuse(e);
      return false;
    }
  }

  /** Counts what lies under slots as left no more: a page has come for it, or it is gone. */
  private void countLeftNoMore(int first, int count) {
    left.clear(first, first + count);
    pages.leftParts().addAndGet(-count);
  }

  /** Takes away what has been left under slots. */
  void clear(int first, int count) {
    eachLeft(first, count, this::hide);
  }

  /** The same of files that nobody can show any more. */
  void clearGone() {
    for (int slot = left.nextSetBit(0); slot >= 0; slot = left.nextSetBit(slot + 1)) {
      Shown part = shows[slot];
      if (part == null || part.file().isGone()) {
        clear(slot, 1);
      }
    }
  }

  private void eachLeft(int first, int count, IntConsumer work) {
    int end = first + count;
    for (int slot = left.nextSetBit(first); slot >= 0 && slot < end; slot = left.nextSetBit(slot)) {
      work.accept(slot);
      countLeftNoMore(slot, 1);
    }
  }

  /** Puts a page under a slot; false where the system refuses, when there is nothing under it. */
  boolean map(int slot, Page page) {
    Shown part = pages.shownBy(page);
    boolean lies = true;
    if (part == null) {
      clear(slot, 1);
      pages.mapAt(addressOf(slot), page);
    } else {
      lies = show(part.file(), slot, 1, part.part() - slot);
    }
    note(slot, lies ? part : null);
    return lies;
  }

  /** Takes a page from under a slot, where what it showed may be left. */
  void leave(int slot, Page page) {
    Shown part = shows[slot];
    if (part == null || !part.file().movesTogether()) {
      unmap(slot, page);
    } else if (pages.leftParts().incrementAndGet() <= pages.lent().total()) {
      left.set(slot);
    } else {
      pages.leftParts().decrementAndGet();
      hide(slot);
    }
  }

  /** Takes a page from under a slot, where nothing is then. */
  void unmap(int slot, Page page) {
    if (shows[slot] == null) {
      pages.unmapAt(addressOf(slot), page);
    } else {
      hide(slot);
    }
  }

  private void hide(int slot) {
    Shown part = shows[slot];
    if (part != null) {
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
