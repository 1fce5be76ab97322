package io.pipelane.lanes.cuda;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.lanes.allocation.PageSlots;
import io.pipelane.lanes.cpu.PublishedSlots;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import io.pipelane.modelstore.host.HostMemory;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Reserved device addresses that pages are mapped into by the copy thread. */
final class CudaAddressRange implements AddressRange {
  /*
   * Which page is where is decided here, at once and under the object's monitor; the copy thread
   * follows. Commands are given under the monitor, so they are in the order of the decisions, and a
   * copy's command comes behind those of the slots it pinned. What runs on pages that no copy goes
   * to waits for `settled`. `mappings` is the copy thread's, and the closing thread's once the copy
   * thread has ended.
   */

  private final CudaPagePool pages;
  private final CudaCopyEngine engine;
  private final VirtualMemory memory;
  private final @Nullable PublishedSlots published;
  private final Consumer<CudaAddressRange> onClose;
  private final long address;
  private final long byteSize;
  private final PageSlots slots;
  private final SlotMappings mappings;
  private final InPlaceWindow window;
  private boolean closed;

  /**
   * Reserves a range.
   *
   * @param window what is read in place by whatever runs on the range
   * @param published where workers look up what lies under the slots; null where sessions run here
   */
  CudaAddressRange(
      CudaPagePool pages,
      CudaCopyEngine engine,
      VirtualMemory memory,
      int slots,
      InPlaceWindow window,
      @Nullable PublishedSlots published,
      Consumer<CudaAddressRange> onClose) {
    long pageBytes = pages.lent().pageBytes();
    this.pages = pages;
    this.engine = engine;
    this.memory = memory;
    this.window = window;
    this.published = published;
    this.onClose = onClose;
    this.byteSize = slots * pageBytes;
    this.address = memory.reserve(byteSize, pageBytes);
    this.slots = new PageSlots(pages.lent(), slots);
    this.mappings = new SlotMappings(memory, engine::zero, address, pageBytes, slots);
  }

  @Override
  public long address() {
    return address;
  }

  @Override
  public long byteSize() {
    return byteSize;
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
    engine.plan(mappings, slot, pages.handle(page), zeroed);
    if (published != null) {
      published.put(slot, page);
    }
    slots.put(slot, page);
  }

  @Override
  public synchronized Page unmap(int slot) {
    requireOpen();
    slots.requireIdle(slot);
    engine.plan(mappings, slot, 0, false);
    if (published != null) {
      published.remove(slot);
    }
    return slots.remove(slot);
  }

  @Override
  public synchronized DeviceEvent settled(int first) {
    requireOpen();
    return engine.settle(this, first);
  }

  @Override
  public long windowAddress() {
    return window.address();
  }

  @Override
  public synchronized void show(HostMemory.Loaded held) {
    requireOpen();
    window.show(held);
  }

  @Override
  public synchronized void hide() {
    requireOpen();
    window.hide();
  }

  @Override
  public synchronized void showPages(AddressRange copy) {
    requireOpen();
    if (!(copy instanceof CudaAddressRange other) || other.engine != engine) {
      throw new IllegalArgumentException("the address range belongs to another device");
    }
    other.requireFull();
    window.showPages(other.address, other.byteSize, other.published);
  }

  private synchronized void requireFull() {
    requireOpen();
    if (slots.mapped() < slots.count()) {
      throw new IllegalStateException(slots.count() - slots.mapped() + " pages are missing");
    }
  }

  @Override
  public synchronized void hidePages() {
    requireOpen();
    window.hidePages();
  }

  @Override
  public MemorySegment memory() {
    return MemorySegment.ofAddress(address).reinterpret(byteSize);
  }

  /** Pins the slots under a stretch, see {@link PageSlots#pin}. */
  synchronized void pin(long offset, long bytes) {
    requireOpen();
    slots.pin(offset, bytes);
  }

  synchronized void unpin(long offset, long bytes) {
    slots.unpin(offset, bytes);
  }

  SlotMappings mappings() {
    return mappings;
  }

  /** Puts the pages where they should be under a stretch; on the copy thread. */
  void settle(long offset, long bytes) {
    mappings.settle(slots.firstSlot(offset), slots.endSlot(offset, bytes));
  }

  /**
   * Gives the addresses back, with whatever is mapped; on the copy thread, or once it has ended.
   */
  void release() {
    mappings.clear();
    memory.free(address, byteSize);
  }

  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    if (slots.mapped() > 0) {
      throw new IllegalStateException(slots.mapped() + " pages are still mapped; unmap them first");
    }
    closed = true;
    unpublish();
    if (engine.free(this)) {
      onClose.accept(this);
    }
  }

  /** Closes the range whatever is mapped; only once the copy thread has ended. */
  synchronized void closeWithPages() {
    if (!closed) {
      unpublish();
    }
    closed = true;
    for (int slot = 0; slot < slots.count(); slot++) {
      if (slots.at(slot) != null) {
        slots.remove(slot);
      }
    }
    release();
  }

  private void unpublish() {
    if (published != null) {
      published.close();
    }
  }

  /** Where workers look up what lies under the slots. */
  PublishedSlots published() {
    return Objects.requireNonNull(published, "the range is used in this process");
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the address range is closed");
    }
  }
}
