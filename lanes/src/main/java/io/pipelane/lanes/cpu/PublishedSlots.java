package io.pipelane.lanes.cpu;

import io.pipelane.lanes.PagePool.Page;
import java.lang.foreign.MemorySegment;

/** The slots of one range as worker processes see them; written by the range, under its lock. */
final class PublishedSlots implements AutoCloseable {
  private final MemorySegment entries;
  private final CpuExport.Slots exported;
  private final Runnable onClose;

  PublishedSlots(MemorySegment entries, CpuExport.Slots exported, Runnable onClose) {
    this.entries = entries;
    this.exported = exported;
    this.onClose = onClose;
  }

  CpuExport.Slots exported() {
    return exported;
  }

  void put(int slot, Page page) {
    SlotTable.ENTRY.setRelease(entries, (long) slot * Integer.BYTES, page.index() + 1);
  }

  void remove(int slot) {
    SlotTable.ENTRY.setRelease(entries, (long) slot * Integer.BYTES, 0);
  }

  @Override
  public void close() {
    onClose.run();
  }
}
