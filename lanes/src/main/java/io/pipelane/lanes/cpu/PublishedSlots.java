package io.pipelane.lanes.cpu;

import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.host.HostMemory;
import java.lang.foreign.MemorySegment;

/** The slots of one range as worker processes see them; written by the range, under its lock. */
public final class PublishedSlots implements AutoCloseable {
  private final MemorySegment entries;
  private final ExportedSlots exported;
  private final Runnable onClose;

  PublishedSlots(MemorySegment entries, ExportedSlots exported, Runnable onClose) {
    this.entries = entries;
    this.exported = exported;
    this.onClose = onClose;
  }

  public ExportedSlots exported() {
    return exported;
  }

  public void put(int slot, Page page) {
    SlotTable.ENTRY.setRelease(entries, (long) slot * Integer.BYTES, page.index() + 1);
  }

  public void remove(int slot) {
    SlotTable.ENTRY.setRelease(entries, (long) slot * Integer.BYTES, 0);
  }

  /** Says which host memory the range's window shows. */
  public void show(HostMemory.Shared memory) {
    SlotTable.show(entries, exported.count(), memory);
  }

  /** Says that it shows nothing. */
  public void hide() {
    SlotTable.hide(entries, exported.count());
  }

  /** Says which range has a copy of what the window shows. */
  public void showPages(PublishedSlots copy) {
    SlotTable.showPages(entries, exported.count(), copy.exported);
  }

  /** Says that none has. */
  public void hidePages() {
    SlotTable.showPages(entries, exported.count(), null);
  }

  @Override
  public void close() {
    onClose.run();
  }
}
