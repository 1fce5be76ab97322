package io.pipelane.lanes.cpu;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.allocation.PageSlots;
import io.pipelane.lanes.completion.Completion;
import io.pipelane.lanes.cpu.CpuPagePool.Shown;
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
   * Slots belong to the memory daemon's thread, which maps and unmaps. Copies pin the slots they
   * write from their enqueueing to their end, on any thread. The object's monitor guards both, so
   * that a copy never meets a slot without a page. Nobody waits under it.
   *
   * A slot in `unprepared` has a page that does not lie there yet. Whoever first copies into it, or
   * asks that it be settled, takes the page's memory, maps it, and zeroes it if the slot is in
   * `unzeroed`. That is done under `preparing`, which is taken before the monitor, so that nobody
   * copies into a page half zeroed. So a run's first segments do not wait for the mapping of what
   * later ones read.
   *
   * Copies write to pages by the pool's own addresses for them. What is mapped while there is
   * scratch memory shows when that ends. So a session may be built at any time, as long as none
   * runs in the range.
   *
   * A page may show a part of a file instead of memory of its own (the pool knows, and `mappings`
   * which slots have the file under them). A copy shows only in pages that nothing has been put into
   * and no copy is on its way to, so `show` never meets `prepare` half done. A slot is put back to
   * its page's own memory by `owned` alone. The page has its own content first, then the slots of
   * all ranges that show the file are put back.
   *
   * Where the system refuses to have a page that shows a file do so under a slot as well, what lay
   * there may be gone. The slot is reserved again and unprepared, the page is given memory of its
   * own without the monitor, as other ranges are told, and then it is put there.
   */

  private final CpuPagePool pages;
  private final long pageBytes;
  private final Reservation reservation;
  private final @Nullable PublishedSlots published;
  private final Consumer<Page> owning;
  private final Consumer<CpuAddressRange> onClose;
  private final PageSlots slots;
  private final CpuInPlaceWindow window;
  private final BitSet unprepared = new BitSet();
  private final BitSet unzeroed = new BitSet();
  private final SlotMappings mappings;
  private final Object preparing = new Object();
  private boolean scratch;
  private boolean closed;

  /**
   * Reserves a range.
   *
   * @param published where workers look up what lies under the slots; null maps the pages here
   * @param owning has a page that shows something hold a copy of it, wherever it is mapped, before
   *     it returns; called without this object's monitor
   */
  CpuAddressRange(
      CpuPagePool pages,
      int slots,
      long windowBytes,
      @Nullable PublishedSlots published,
      Consumer<Page> owning,
      Consumer<CpuAddressRange> onClose) {
    this.pages = pages;
    this.pageBytes = pages.lent().pageBytes();
    long slotBytes = slots * pageBytes;
    this.reservation = Reservation.of(slotBytes + LibC.wholePages(windowBytes), pageBytes);
    this.window = new CpuInPlaceWindow(reservation.address() + slotBytes, windowBytes);
    this.published = published;
    this.owning = owning;
    this.onClose = onClose;
    this.slots = new PageSlots(pages.lent(), slots);
    this.mappings = new SlotMappings(pages, reservation.address(), slots);
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

  @Override
  public void mapZeroed(int slot, Page page) {
    map(slot, page, true);
  }

  private synchronized void map(int slot, Page page, boolean zeroed) {
    requireOpen();
    slots.requireFree(slot, page);
    if (published != null) {
      pages.populate(page); // Workers may map it as soon as it is published.
      published.put(slot, page);
    }
    slots.put(slot, page);
    unprepared.set(slot);
    unzeroed.set(slot, zeroed);
  }

  /**
   * Has the pages under a pinned stretch lie where they are put; returns when they do, whoever does
   * it.
   */
  void prepare(long offset, long bytes) {
    prepare(slots.firstSlot(offset), slots.endSlot(offset, bytes));
    own(offset, bytes);
  }

  private void prepare(int first, int end) {
    synchronized (preparing) {
      for (int slot = nextUnprepared(first); slot >= 0 && slot < end; slot = nextUnprepared(slot)) {
        prepare(slot);
      }
    }
  }

  /** Has the pages under a pinned stretch be written to, whatever they showed. */
  private void own(long offset, long bytes) {
    synchronized (preparing) {
      for (int slot = slots.firstSlot(offset); slot < slots.endSlot(offset, bytes); slot++) {
        own(slot);
      }
    }
  }

  private void own(int slot) {
    Page page = pageUnder(slot);
    if (pages.shownBy(page) != null) {
      owning.accept(page);
    }
    if (showsFile(slot)) { // Whoever has owned it meanwhile has not come to this range.
      owned(page);
    }
  }

  private synchronized boolean showsFile(int slot) {
    return mappings.showsFile(slot);
  }

  /** Has a page that shows nothing any more be seen so; whoever reads meanwhile reads the same. */
  synchronized void owned(Page page) {
    for (int slot = 0; slot < slots.count(); slot++) {
      if (mappings.showsFile(slot) && page.equals(slots.at(slot)) && pages.shownBy(page) == null) {
        if (!scratch) {
          mappings.putBack(slot, page);
        }
        mappings.note(slot, null);
      }
    }
  }

  private synchronized Page pageUnder(int slot) {
    return pageAt(slot);
  }

  /** Whether pages of this range can show files. */
  boolean showsFiles() {
    return published == null && pages.movesTables();
  }

  /**
   * Has pages show a file in place of a copy, as far as that goes from the beginning of a stretch:
   * pages that nothing has been put into yet, or that show it already. What they hold behind the
   * stretch is the file's, too.
   *
   * @return how many bytes need no copy
   */
  synchronized long show(StandingFile file, long sourceOffset, long offset, long bytes) {
    requireOpen();
    if ((sourceOffset - offset) % pageBytes != 0) {
      return 0;
    }
    Objects.checkFromIndexSize(offset, bytes, byteSize());
    int shift = (int) ((sourceOffset - offset) / pageBytes);
    int begin = slots.firstSlot(offset);
    int end = slots.endSlot(offset, bytes);
    int fresh = begin;
    while (fresh < end && showsAlready(fresh, file, fresh + shift)) {
      fresh++;
    }
    int slot = fresh;
    while (slot < end && isFreshFrom(slot, offset)) {
      slot++;
    }
    int ready = readyFrom(file, fresh, slot - fresh, shift);
    int shown = ready > 0 && show(file, fresh, ready, shift) ? fresh + ready : fresh;
    return shown == begin ? 0 : Math.min(bytes, shown * pageBytes - offset);
  }

  /**
   * How many parts can be shown at once: asked where their tables are, which is sooner answered.
   */
  private int readyFrom(StandingFile file, int first, int count, int shift) {
    return mappings.hasLeft(file, first, count, shift)
            && file.isReadyAt(reservation.address() + first * pageBytes, first + shift, count)
        ? count
        : file.readyFrom(first + shift, count);
  }

  private boolean showsAlready(int slot, StandingFile file, int part) {
    Page page = slots.at(slot);
    Shown shown = page == null || unprepared.get(slot) ? null : pages.shownBy(page);
    return shown != null && shown.file().equals(file) && shown.part() == part;
  }

  /** Whether nothing has been put into the page under a slot, nor will be but from an offset on. */
  private boolean isFreshFrom(int slot, long offset) {
    Page page = slots.at(slot);
    return page != null
        && slot * pageBytes >= offset
        && unprepared.get(slot)
        && !unzeroed.get(slot)
        && !slots.isPinned(slot)
        && pages.lent().isMappedOnce(page)
        && pages.shownBy(page) == null;
  }

  /** Puts a file under slots; false where the system refuses, when there is nothing under them. */
  private boolean show(StandingFile file, int first, int count, int shift) {
    if (!scratch && !mappings.show(file, first, count, shift)) {
      return false;
    }
    for (int slot = first; slot < first + count; slot++) {
      Shown part = new Shown(file, slot + shift);
      pages.show(pageAt(slot), part);
      mappings.note(slot, part);
      unprepared.clear(slot);
    }
    return true;
  }

  /** Puts a page under its slot, which is unprepared where the system refuses. */
  private void mapAt(int slot, Page page) {
    unprepared.set(slot, !mappings.map(slot, page));
  }

  private synchronized int nextUnprepared(int slot) {
    return unprepared.nextSetBit(slot);
  }

  private void prepare(int slot) {
    for (@Nullable Page refused = put(slot); refused != null; refused = put(slot)) {
      owning.accept(refused);
    }
  }

  /** Answers a page that the system refuses to have there as long as it shows a file. */
  private @Nullable Page put(int slot) {
    @Nullable Page page;
    boolean zeroed;
    synchronized (this) {
      page = slots.at(slot);
      zeroed = unzeroed.get(slot);
    }
    if (page == null) {
      return null; // It has been taken away meanwhile.
    }
    if (zeroed) {
      pages.showNothing(page);
    }
    if (pages.shownBy(page) == null) {
      pages.populate(page);
    }
    if (zeroed) {
      pages.content(page).fill((byte) 0);
    }
    synchronized (this) {
      if (!page.equals(slots.at(slot)) || !unprepared.get(slot)) {
        return null;
      }
      if (published == null && !scratch) {
        mapAt(slot, page);
      } else {
        unprepared.clear(slot);
      }
      unzeroed.clear(slot);
      return unprepared.get(slot) ? page : null;
    }
  }

  @Override
  public Page unmap(int slot) {
    return unmap(slot, mappings::unmap);
  }

  @Override
  public Page unmapToGiveBack(int slot) {
    return unmap(slot, mappings::leave);
  }

  private synchronized Page unmap(int slot, PageWork how) {
    requireOpen();
    Page page = slots.requireIdle(slot);
    if (published != null) {
      published.remove(slot);
    } else if (!scratch && !unprepared.get(slot)) {
      how.at(slot, page);
    } else if (scratch) {
      mappings.note(slot, null);
    }
    unprepared.clear(slot);
    unzeroed.clear(slot);
    return slots.remove(slot);
  }

  /** Pages that no copy has come for are put where they belong now. */
  @Override
  public DeviceEvent settled(int count) {
    prepare(0, count);
    return Completion.DONE;
  }

  @Override
  public MemorySegment memory() {
    return reservation.memory().asSlice(0, byteSize());
  }

  @Override
  public long windowAddress() {
    return window.address();
  }

  @Override
  public synchronized void show(HostMemory.Loaded held) {
    requireOpen();
    window.show(held.memory());
  }

  @Override
  public synchronized void hide() {
    requireOpen();
    window.hide();
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
    mappings.clear(0, slots.count());
    eachPreparedPage(mappings::unmap);
    LibC.mapMemoryAt(reservation.address(), byteSize());
    scratch = true;
    return this::endScratch;
  }

  private void endScratch() {
    int refused;
    synchronized (this) {
      LibC.mapNothingAt(reservation.address(), byteSize());
      scratch = false;
      int before = unprepared.cardinality();
      eachPreparedPage((slot, _) -> mappings.note(slot, null)); // What came meanwhile lies nowhere.
      eachPreparedPage(this::mapAt);
      refused = unprepared.cardinality() - before;
    }
    if (refused > 0) {
      prepare(0, slots.count());
    }
  }

  /** Takes away what has been left of files that nobody can show any more. */
  synchronized void clearGone() {
    mappings.clearGone();
  }

  private void eachPreparedPage(PageWork work) {
    for (int slot = 0; slot < slots.count(); slot++) {
      Page page = slots.at(slot);
      if (page != null && !unprepared.get(slot)) {
        work.at(slot, page);
      }
    }
  }

  private interface PageWork {
    void at(int slot, Page page);
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

  /**
   * Reads a stretch of a source into a pinned one of this range. Pages that lie one behind the
   * other are written as one: from 2.5 MiB on the JVM copies past the caches (non-temporal stores),
   * which is a fifth faster and leaves them to whoever computes.
   */
  void fill(WeightSource source, long sourceOffset, long offset, long bytes) {
    for (long done = 0; done < bytes; ) {
      MemorySegment target = content(offset + done, bytes - done);
      source.read(sourceOffset + done, target);
      done += target.byteSize();
    }
  }

  /** The memory behind a place, as far as its pages lie one behind the other; all are pinned. */
  private synchronized MemorySegment content(long offset, long bytes) {
    int slot = slots.firstSlot(offset);
    Page first = pageAt(slot);
    long inPage = offset % pageBytes;
    long there = pageBytes - inPage;
    while (there < bytes
        && pageAt(++slot).index() - first.index() == (inPage + there) / pageBytes) {
      there += pageBytes;
    }
    return pages.stretch(first, inPage, Math.min(bytes, there));
  }

  private Page pageAt(int slot) {
    return Objects.requireNonNull(slots.at(slot), "no page to write to");
  }

  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    if (slots.mapped() > 0) {
      throw new IllegalStateException(slots.mapped() + " pages are still mapped; unmap them first");
    }
    mappings.clear(0, slots.count());
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
}
