package io.pipelane.lanes.cuda.worker;

import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.MappedRange;
import io.pipelane.lanes.cpu.SlotTable;
import io.pipelane.lanes.cuda.SlotMappings;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.Mappings;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import io.pipelane.modelstore.host.HostMemory;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;

/** A worker process's device addresses for a range: maps what the slot table says. */
final class CudaWorkerRange implements MappedRange {
  /*
   * The table may change at any time, but only for slots that nobody runs on. Whoever runs asks for
   * what he needs before he launches what reads it. By then the table has it, and keeps it until
   * the run is over. A page that has left a slot stays mapped until another comes: nothing reads it
   * there. The monitor guards everything.
   */
  private final CudaContext context;
  private final VirtualMemory memory;
  private final long[] pages;
  private final long pageBytes;
  private final MemorySegment table;
  private final long address;
  private final int slots;
  private final SlotMappings mappings;
  private int users;

  CudaWorkerRange(
      CudaContext context,
      VirtualMemory memory,
      Mappings forReading,
      long[] pages,
      long pageBytes,
      MemorySegment slotTable,
      ExportedSlots slots) {
    this.context = context;
    this.memory = memory;
    this.pages = pages;
    this.pageBytes = pageBytes;
    this.slots = slots.count();
    this.table = SlotTable.entries(slotTable, slots);
    this.address = memory.reserve(slots.count() * pageBytes, pageBytes);
    this.mappings = SlotMappings.forReading(forReading, address, pageBytes, slots.count());
  }

  @Override
  public long address() {
    return address;
  }

  @Override
  public synchronized void map(long begin, long endByte) {
    int first = (int) (begin / pageBytes);
    int end = (int) Math.min(slots, Math.ceilDiv(endByte, pageBytes));
    for (int slot = first; slot < end; slot++) {
      int entry = SlotTable.entry(table, slot);
      if (entry > 0) {
        mappings.plan(slot, pages[entry - 1]);
      }
    }
    mappings.settle(first, end);
  }

  /** Takes one page, which lies under all slots. */
  @Override
  public synchronized Blank blank() {
    BlankPage page = BlankPage.take(context, memory, pageBytes);
    try {
      cover(page.handle());
    } catch (RuntimeException e) {
      uncover(page);
      throw e;
    }
    return () -> uncover(page);
  }

  private void cover(long handle) {
    for (int slot = 0; slot < slots; slot++) {
      mappings.plan(slot, handle);
    }
    mappings.settle();
  }

  private synchronized void uncover(BlankPage page) {
    mappings.clear();
    page.close();
  }

  /** Which host memory the variant in the range reads in place. */
  HostMemory.Shared shown() {
    return SlotTable.shown(table, slots)
        .orElseThrow(() -> new IllegalStateException("the range shows nothing to read in place"));
  }

  /** Where the range is in the slot table that has a copy of that, to be read instead. */
  OptionalLong shownPages() {
    return SlotTable.shownPages(table, slots);
  }

  synchronized CudaWorkerRange shared() {
    users++;
    return this;
  }

  /** Returns true when that was the last user; the addresses are gone then. */
  synchronized boolean unshared() {
    users--;
    if (users == 0) {
      mappings.clear();
      memory.free(address, slots * pageBytes);
    }
    return users == 0;
  }
}
