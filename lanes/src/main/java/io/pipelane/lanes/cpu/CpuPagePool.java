package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.allocation.LentPages;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** Pages that are pieces of one memfd. */
final class CpuPagePool implements AutoCloseable {
  /*
   * The memfd is mapped twice as a whole. Copies write through one mapping, the window. A page's
   * memory is taken through it when the page is first put under a slot, as huge pages where the
   * kernel has some. The memory is then huge wherever it is mapped later. So the device starts at
   * once however large it is: zeroing costs 0.3 to 1.1 s per GiB, once, spread over first uses.
   *
   * The other mapping, the parking, is never read or written. There lie the page tables of pages
   * that are under no slot. Without huge pages, writing the tables of 4 KiB entries for a page of 2
   * MiB takes as long as copying a quarter of it. So they are written once, and move to the slot
   * with the page and back. Nothing depends on their being there: where they are missing (a page
   * that lies under a second slot, a kernel that cannot move them) the kernel writes them as memory
   * is touched.
   *
   * A page that shows a part of a file has memory of its own only once that is asked for. It is
   * copied there piece by piece, under the Shown's monitor, as long as the page shows the part.
   * Whoever has it show nothing says so first, without the monitor, and takes that then. So he waits
   * for the piece that is being copied at most, whoever else wants the monitor: no piece begins once
   * he has said so. Nobody writes to the page then.
   */

  private static final System.Logger LOG = System.getLogger(CpuPagePool.class.getName());

  private final long pageBytes;
  private final TableMoves moves;
  private final int descriptor;
  private final Reservation window;
  private final Reservation parking;
  private final boolean tablesMove;
  private final LentPages lent;
  private final AtomicIntegerArray populated; // 1 for a page that is; read without a lock
  private final AtomicReferenceArray<@Nullable Shown> shown;
  private final AtomicInteger shownPages = new AtomicInteger();
  private final AtomicInteger leftParts = new AtomicInteger();

  /** A part of a file that a page shows in place of memory of its own, this time. */
  static final class Shown {
    private final StandingFile file;
    private final int part;

    Shown(StandingFile file, int part) {
      this.file = file;
      this.part = part;
    }

    StandingFile file() {
      return file;
    }

    int part() {
      return part;
    }

    /** Returns when nobody copies a piece of it any more, where no further one begins. */
    private synchronized void awaitPiece() {}
  }

  /** Makes {@code total} pages of {@code pageBytes}, a power of two. */
  CpuPagePool(long pageBytes, int total, TableMoves moves) {
    this.pageBytes = pageBytes;
    this.moves = moves;
    this.lent = new LentPages(pageBytes, total, this::showNothing);
    this.shown = new AtomicReferenceArray<>(total);
    this.populated = new AtomicIntegerArray(total);
    long bytes = pageBytes * total;
    this.descriptor = LibC.memfdCreate("pipelane-device");
    Reservation first = null;
    Reservation second = null;
    try {
      LibC.ftruncate(descriptor, bytes);
      first = mapped(bytes);
      second = mapped(bytes);
      LibC.madvise(first.address(), bytes, LibC.ADVICE_HUGEPAGE);
      this.tablesMove = canMoveTables(second.address());
    } catch (RuntimeException e) {
      if (second != null) {
        second.close();
      }
      if (first != null) {
        first.close();
      }
      LibC.close(descriptor);
      throw e;
    }
    this.window = first;
    this.parking = second;
  }

  private Reservation mapped(long bytes) {
    Reservation reservation = Reservation.of(bytes, pageBytes);
    LibC.mapFileAt(reservation.address(), bytes, descriptor, 0, false);
    return reservation;
  }

  /** Tries it where nothing is lost. */
  private boolean canMoveTables(long address) {
    try (Reservation trial = Reservation.of(pageBytes, pageBytes)) {
      return moves.moveAt(trial.address(), pageBytes, address);
    }
  }

  /** The memfd. */
  int descriptor() {
    return descriptor;
  }

  LentPages lent() {
    return lent;
  }

  /**
   * Takes the memory of a lent page and writes its tables, unless that has been done before. Any
   * thread's.
   */
  void populate(Page page) {
    if (populated.get(page.index()) == 0) {
      populateNow(page);
    }
  }

  private synchronized void populateNow(Page page) {
    if (populated.get(page.index()) == 0) {
      takeMemory(page);
      if (tablesMove) {
        LibC.madvise(placeIn(parking, page), pageBytes, LibC.ADVICE_POPULATE_WRITE);
      }
      populated.set(page.index(), 1);
    }
  }

  /** The kernel collapses only what has been touched, and zeroes the rest itself. */
  private void takeMemory(Page page) {
    boolean huge = false;
    if (pageBytes % LibC.HUGE_PAGE_BYTES == 0) {
      MemorySegment content = content(page);
      for (long offset = 0; offset < pageBytes; offset += LibC.HUGE_PAGE_BYTES) {
        content.set(JAVA_BYTE, offset, (byte) 0);
      }
      huge = LibC.collapse(content.address(), pageBytes);
    }
    if (!huge) {
      LibC.madvise(placeIn(window, page), pageBytes, LibC.ADVICE_POPULATE_WRITE);
    }
  }

  /** Gives the memory of a lent page that lies under no slot back to the system. */
  synchronized void vacate(Page page) {
    lent.requireUnmapped(page);
    if (populated.getAndSet(page.index(), 0) == 1) {
      LibC.madvise(placeIn(window, page), pageBytes, LibC.ADVICE_REMOVE);
    }
  }

  /** A page's memory, wherever it is mapped. */
  MemorySegment content(Page page) {
    return stretch(page, 0, pageBytes);
  }

  /** Memory from within a page on, wherever it is mapped; it may reach into the pages behind. */
  MemorySegment stretch(Page page, long inPage, long bytes) {
    return window.memory().asSlice(page.index() * pageBytes + inPage, bytes);
  }

  /** Whether page tables can be moved, without which it is no use to show files. */
  boolean movesTables() {
    return tablesMove;
  }

  /** What a page shows; null where it has its own content. */
  @Nullable Shown shownBy(Page page) {
    return shown.get(page.index());
  }

  /** How many pages show something. */
  int shownPages() {
    return shownPages.get();
  }

  /** Counts the parts of files that lie under slots without a page; ranges write it. */
  AtomicInteger leftParts() {
    return leftParts;
  }

  /** Has a page, which shows nothing, show a part of a file until it is given back or owned. */
  void show(Page page, Shown part) {
    part.file.use();
    shown.set(page.index(), part);
    shownPages.incrementAndGet();
  }

  /** Takes the memory of a page, if it shows a part still. */
  synchronized boolean populateWhile(Page page, Shown part) {
    boolean shows = shown.get(page.index()) == part;
    if (shows) {
      populateNow(page);
    }
    return shows;
  }

  /**
   * Copies some of what a populated page shows to its own memory, if it shows that still; zeros
   * behind the file's end.
   */
  boolean copyWhile(Page page, Shown part, long offset, long bytes) {
    MemorySegment content = part.file.read(part.part, offset, bytes);
    synchronized (part) {
      boolean shows = shown.get(page.index()) == part;
      if (shows) {
        MemorySegment own = stretch(page, offset, bytes);
        own.copyFrom(content);
        own.asSlice(content.byteSize()).fill((byte) 0);
      }
      return shows;
    }
  }

  /** Has a page's content be whatever is in its own memory. */
  void showNothing(Page page) {
    Shown part = shown.get(page.index());
    if (part != null) {
      showNothing(page, part);
    }
  }

  /** The same, if it shows a part still. */
  boolean showNothing(Page page, Shown part) {
    boolean showed = shown.compareAndSet(page.index(), part, null);
    if (showed) {
      part.awaitPiece();
      shownPages.decrementAndGet();
      part.file.leave();
    }
    return showed;
  }

  /** Puts a populated page under reserved addresses. */
  void mapAt(long address, Page page) {
    if (!tablesMove || !moveTables(address, page, placeIn(parking, page))) {
      mapNow(address, page, true);
    }
  }

  /** Takes the page there is from under addresses. */
  void unmapAt(long address, Page page) {
    if (tablesMove && !moveTables(placeIn(parking, page), page, address)) {
      mapNow(placeIn(parking, page), page, false);
    }
    LibC.mapNothingAt(address, pageBytes);
  }

  /** Moves a page's tables; false where the system refuses: nothing may be there then. */
  private boolean moveTables(long address, Page page, long from) {
    try {
      return moves.moveAt(address, pageBytes, from);
    } catch (StatusException e) {
      LOG.log(Level.DEBUG, "tables of page " + page.index() + " are to be written anew", e);
      return false;
    }
  }

  private void mapNow(long address, Page page, boolean populate) {
    LibC.mapFileAt(address, pageBytes, descriptor, page.index() * pageBytes, populate);
  }

  private long placeIn(Reservation mapping, Page page) {
    return mapping.address() + page.index() * pageBytes;
  }

  /** Gives the memory back; no page may be mapped any more. */
  @Override
  public void close() {
    window.close();
    parking.close();
    LibC.close(descriptor);
  }
}
