package io.pipelane.lanes.cpu;

import io.pipelane.lanes.PagePool;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Optional;

/** Pages that are pieces of one memfd. */
final class CpuPagePool implements PagePool, AutoCloseable {
  /*
   * The memfd is mapped once as a whole, the window. It asks for huge pages, and a page's memory is
   * taken through it when the page is first put under a slot; so the memory is huge wherever it is
   * mapped later, where the kernel grants that (shmem_enabled), and the device starts at once
   * however large it is: zeroing costs 0.3 to 1.1 s per GiB, once, spread over first uses.
   *
   * Pages are lent last in, first out, so that memory already taken is used before other.
   */

  private final long pageBytes;
  private final int descriptor;
  private final Reservation window;
  private final int[] freePages;
  private int free;
  private final BitSet lent;
  private final BitSet populated;
  private final int[] mappings;

  /** Makes {@code total} pages of {@code pageBytes}, a power of two. */
  CpuPagePool(long pageBytes, int total) {
    this.pageBytes = pageBytes;
    this.freePages = new int[total];
    Arrays.setAll(freePages, i -> total - 1 - i);
    this.free = total;
    this.lent = new BitSet(total);
    this.populated = new BitSet(total);
    this.mappings = new int[total];
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

  @Override
  public long pageBytes() {
    return pageBytes;
  }

  @Override
  public int total() {
    return freePages.length;
  }

  @Override
  public int free() {
    return free;
  }

  @Override
  public Optional<Page> take() {
    if (free == 0) {
      return Optional.empty();
    }
    int index = freePages[--free];
    lent.set(index);
    return Optional.of(new Page(index));
  }

  @Override
  public void giveBack(Page page) {
    requireLent(page);
    if (mappings[page.index()] > 0) {
      throw new IllegalStateException(page + " is still mapped; unmap it first");
    }
    lent.clear(page.index());
    freePages[free++] = page.index();
  }

  /** Puts a lent page under reserved addresses. */
  void mapAt(long address, Page page) {
    requireLent(page);
    int index = page.index();
    long offset = index * pageBytes;
    if (!populated.get(index)) {
      LibC.madvise(window.address() + offset, pageBytes, LibC.ADVICE_POPULATE_WRITE);
      populated.set(index);
    }
    LibC.mapFileAt(address, pageBytes, descriptor, offset, true);
    mappings[index]++;
  }

  /** Takes a page from under the addresses it was put under. */
  void unmapAt(long address, Page page) {
    LibC.mapNothingAt(address, pageBytes);
    mappings[page.index()]--;
  }

  private void requireLent(Page page) {
    int index = page.index();
    if (index < 0 || index >= freePages.length || !lent.get(index)) {
      throw new IllegalStateException(page + " is not lent by this device");
    }
  }

  /** Gives the memory back; no page may be mapped any more. */
  @Override
  public void close() {
    window.close();
    LibC.close(descriptor);
  }
}
