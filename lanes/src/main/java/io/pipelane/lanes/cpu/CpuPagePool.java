package io.pipelane.lanes.cpu;

import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.allocation.LentPages;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/** Pages that are pieces of one memfd. */
final class CpuPagePool implements AutoCloseable {
  /*
   * The memfd is mapped once as a whole, the window. It asks for huge pages, and a page's memory is
   * taken through it when the page is first put under a slot; so the memory is huge wherever it is
   * mapped later, where the kernel grants that (shmem_enabled), and the device starts at once
   * however large it is: zeroing costs 0.3 to 1.1 s per GiB, once, spread over first uses.
   */

  private final long pageBytes;
  private final int descriptor;
  private final Reservation window;
  private final LentPages lent;
  private final BitSet populated;

  /** Makes {@code total} pages of {@code pageBytes}, a power of two. */
  CpuPagePool(long pageBytes, int total) {
    this.pageBytes = pageBytes;
    this.lent = new LentPages(pageBytes, total);
    this.populated = new BitSet(total);
    long bytes = pageBytes * total;
    this.descriptor = LibC.memfdCreate("pipelane-device");
    Reservation reservation = null;
    try {
      LibC.ftruncate(descriptor, bytes);
      reservation = Reservation.of(bytes, pageBytes);
      LibC.mapFileAt(reservation.address(), bytes, descriptor, 0, false);
      LibC.madvise(reservation.address(), bytes, LibC.ADVICE_HUGEPAGE);
    } catch (RuntimeException e) {
      if (reservation != null) {
        reservation.close();
      }
      LibC.close(descriptor);
      throw e;
    }
    this.window = reservation;
  }

  /** The memfd. */
  int descriptor() {
    return descriptor;
  }

  LentPages lent() {
    return lent;
  }

  /** Takes the memory of a lent page, unless that has been done before. */
  void populate(Page page) {
    int index = page.index();
    if (!populated.get(index)) {
      long offset = index * pageBytes;
      LibC.madvise(window.address() + offset, pageBytes, LibC.ADVICE_POPULATE_WRITE);
      populated.set(index);
    }
  }

  /** A page's memory, wherever it is mapped. */
  MemorySegment content(Page page) {
    return window.memory().asSlice(page.index() * pageBytes, pageBytes);
  }

  /** Puts a populated page under reserved addresses. */
  void mapAt(long address, Page page) {
    LibC.mapFileAt(address, pageBytes, descriptor, page.index() * pageBytes, true);
  }

  /** Takes what page there is from under addresses. */
  void unmapAt(long address) {
    LibC.mapNothingAt(address, pageBytes);
  }

  /** Gives the memory back; no page may be mapped any more. */
  @Override
  public void close() {
    window.close();
    LibC.close(descriptor);
  }
}
