package io.pipelane.lanes.cpu;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.allocation.PageSlots;
import io.pipelane.lanes.completion.Completion;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostMemory;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Reserved addresses that pages of the memfd are mapped into. */
final class CpuAddressRange implements AddressRange {
  /*
   * Slots belong to the memory daemon's thread, which maps and unmaps; copies pin the slots they
   * write from their enqueueing to their end, on any thread. The object's monitor guards both, so
   * that a copy never meets a slot without a page. Nobody waits under it. Slots in `unzeroed` are
   * zeroed under `zeroing`, which is taken before the monitor, so that nobody copies into one half
   * zeroed.
   *
   * Copies write to pages by the pool's own addresses for them, and what is mapped while there is
   * scratch memory shows when that ends: so a session may be built at any time, as long as none
   * runs in the range.
   *
   * The window shows a second mapping of somebody else's, of the same pages of the page cache; so
   * addresses stay while files change, and nothing is in memory twice. Such a file must not get
   * shorter: touching what is gone ends the process (SIGBUS). Those of the import cache are never
   * written after their publication.
   */

  private final CpuPagePool pages;
  private final long pageBytes;
  private final Reservation reservation;
  private final @Nullable PublishedSlots published;
  private final Consumer<CpuAddressRange> onClose;
  private final PageSlots slots;
  private final long windowBytes;
  private final BitSet unzeroed = new BitSet();
  private final Object zeroing = new Object();
  private boolean scratch;
  private boolean closed;

  /**
   * Reserves a range.
   *
   * @param published where workers look up what lies under the slots; null maps the pages here
   */
  CpuAddressRange(
      CpuPagePool pages,
      int slots,
      long windowBytes,
      @Nullable PublishedSlots published,
      Consumer<CpuAddressRange> onClose) {
    this.pages = pages;
    this.pageBytes = pages.lent().pageBytes();
    this.windowBytes = windowBytes;
    this.reservation = Reservation.of(slots * pageBytes + LibC.wholePages(windowBytes), pageBytes);
    this.published = published;
    this.onClose = onClose;
    this.slots = new PageSlots(pages.lent(), slots);
  }

  @Override
  public long address() {
    return reservation.address();
  }

  @Override
  public long byteSize() {
    return slots.count() * pageBytes;
  }

  @Override
  public int slots() {
    return slots.count();
  }

  @Override
  public void map(int slot, Page page) {
    map(slot, page, false);
  }

  /** The copy thread zeroes it, which takes longer than who maps has time for. */
  @Override
  public void mapZeroed(int slot, Page page) {
    map(slot, page, true);
  }

  private synchronized void map(int slot, Page page, boolean zeroed) {
    requireOpen();
    slots.requireFree(slot, page);
    pages.populate(page);
    if (published != null) {
      published.put(slot, page);
    } else if (!scratch) {
      pages.mapAt(addressOf(slot), page);
    }
    slots.put(slot, page);
    unzeroed.set(slot, zeroed);
  }

  /**
   * Zeroes what is to be zero before a copy into a pinned stretch begins; returns when it is,
   * whoever does it.
   */
  void zeroBefore(long offset, long bytes) {
    if (bytes > 0) {
      zero(slots.firstSlot(offset), slots.firstSlot(offset + bytes - 1) + 1);
    }
  }

  private void zero(int first, int end) {
    synchronized (zeroing) {
      for (int slot = nextUnzeroed(first); slot >= 0 && slot < end; slot = nextUnzeroed(slot)) {
        zero(slot);
      }
    }
  }

  private synchronized int nextUnzeroed(int slot) {
    return unzeroed.nextSetBit(slot);
  }

  private void zero(int slot) {
    @Nullable MemorySegment content;
    synchronized (this) {
      Page page = slots.at(slot);
      content = page == null ? null : pages.content(page);
    }
    if (content != null) {
      content.fill((byte) 0);
    }
    synchronized (this) {
      unzeroed.clear(slot);
    }
  }

  @Override
  public synchronized Page unmap(int slot) {
    requireOpen();
    Page page = slots.requireIdle(slot);
    unzeroed.clear(slot);
    if (published != null) {
      published.remove(slot);
    } else if (!scratch) {
      pages.unmapAt(addressOf(slot), page);
    }
    return slots.remove(slot);
  }

  /** Pages are mapped at once; those that no copy has come for are zeroed now. */
  @Override
  public DeviceEvent settled(int count) {
    zero(0, count);
    return Completion.DONE;
  }

  @Override
  public MemorySegment memory() {
    return reservation.memory().asSlice(0, byteSize());
  }

  @Override
  public long windowAddress() {
    if (windowBytes == 0) {
      return AddressRange.super.windowAddress();
    }
    return reservation.address() + byteSize();
  }

  @Override
  public synchronized void show(HostMemory.Loaded held) {
    requireOpen();
    MemorySegment hostMemory = held.memory();
    if (hostMemory.byteSize() != windowBytes) {
      throw new IllegalArgumentException(
          "a window of %d bytes cannot show %d".formatted(windowBytes, hostMemory.byteSize()));
    }
    try {
      LibC.mapSameAt(windowAddress(), LibC.wholePages(windowBytes), hostMemory.address());
    } catch (RuntimeException e) {
      hide();
      throw e;
    }
  }

  @Override
  public synchronized void hide() {
    requireOpen();
    LibC.mapNothingAt(windowAddress(), LibC.wholePages(windowBytes));
  }

  /**
   * Puts other memory over all slots for a while, for somebody who writes there what nobody reads,
   * as a session does while it is built. Pages keep what is in them; nobody may want to read them.
   *
   * @throws IllegalStateException when there is scratch memory already
   */
  synchronized SessionRanges.Scratch scratch() {
    requireOpen();
    if (scratch) {
      throw new IllegalStateException("the range has scratch memory already; close that first");
    }
    eachPage(pages::unmapAt);
    LibC.mapMemoryAt(reservation.address(), byteSize());
    scratch = true;
    return this::endScratch;
  }

  private synchronized void endScratch() {
    LibC.mapNothingAt(reservation.address(), byteSize());
    scratch = false;
    eachPage(pages::mapAt);
  }

  private void eachPage(PageWork work) {
    for (int slot = 0; slot < slots.count(); slot++) {
      Page page = slots.at(slot);
      if (page != null) {
        work.at(addressOf(slot), page);
      }
    }
  }

  private interface PageWork {
    void at(long address, Page page);
  }

  /** Where workers look up what lies under the slots. */
  PublishedSlots published() {
    return Objects.requireNonNull(published, "the range is used in this process");
  }

  /** Pins the slots under a stretch, see {@link PageSlots#pin}. */
  synchronized void pin(long offset, long bytes) {
    requireOpen();
    slots.pin(offset, bytes);
  }

  synchronized void unpin(long offset, long bytes) {
    slots.unpin(offset, bytes);
  }

  /** Reads a stretch of a source into a pinned one of this range, page by page. */
  void fill(WeightSource source, long sourceOffset, long offset, long bytes) {
    for (long done = 0; done < bytes; ) {
      MemorySegment target = content(offset + done, bytes - done);
      source.read(sourceOffset + done, target);
      done += target.byteSize();
    }
  }

  /** The memory behind a place, as far as its page reaches; the place is pinned. */
  private synchronized MemorySegment content(long offset, long bytes) {
    Page page = Objects.requireNonNull(slots.at(slots.firstSlot(offset)), "no page to write to");
    long inPage = offset % pageBytes;
    return pages.content(page).asSlice(inPage, Math.min(bytes, pageBytes - inPage));
  }

  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    if (slots.mapped() > 0) {
      throw new IllegalStateException(slots.mapped() + " pages are still mapped; unmap them first");
    }
    reservation.close();
    if (published != null) {
      published.close();
    }
    closed = true;
    onClose.accept(this);
  }

  /** Closes the range whatever is mapped; only when its pages go as well. */
  synchronized void closeWithPages() {
    for (int slot = 0; slot < slots.count(); slot++) {
      if (slots.at(slot) != null) {
        unmap(slot);
      }
    }
    close();
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the address range is closed");
    }
  }

  private long addressOf(int slot) {
    return reservation.address() + slot * pageBytes;
  }
}
