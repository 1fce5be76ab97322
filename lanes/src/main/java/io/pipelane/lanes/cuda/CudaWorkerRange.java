package io.pipelane.lanes.cuda;

import io.pipelane.lanes.MappedRange;
import io.pipelane.lanes.allocation.ExportedSlots;
import io.pipelane.lanes.cpu.SlotTable;
import io.pipelane.lanes.cuda.driver.CudaException;
import io.pipelane.lanes.cuda.driver.Mappings;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.Executor;

/** A worker process's device addresses for a range: maps what the slot table says. */
final class CudaWorkerRange implements MappedRange {
  /*
   * The table may change at any time, for slots that nobody runs on; whoever runs asks for what he
   * needs before he launches what reads it, and by then the table has it and keeps it until the run
   * is over. A page that has left a slot stays mapped until another comes: nothing reads it there.
   * The monitor guards everything; mapping ahead gives it up every few pages, as a run waits for it
   * when it needs the next ones itself.
   */
  private static final System.Logger LOG = System.getLogger(CudaWorkerRange.class.getName());
  private static final int PAGES_AHEAD = 2;

  private final VirtualMemory memory;
  private final long[] pages;
  private final long pageBytes;
  private final MemorySegment table;
  private final long address;
  private final int slots;
  private final SlotMappings mappings;
  private final Executor ahead;
  private int users;

  /**
   * Reserves the addresses.
   *
   * @param ahead maps ahead, on a thread of its own
   */
  CudaWorkerRange(
      VirtualMemory memory,
      Mappings forReading,
      long[] pages,
      long pageBytes,
      MemorySegment slotTable,
      ExportedSlots slots,
      Executor ahead) {
    this.memory = memory;
    this.ahead = ahead;
    this.pages = pages;
    this.pageBytes = pageBytes;
    this.slots = slots.count();
    this.table = slotTable.asSlice(slots.offset(), (long) slots.count() * Integer.BYTES);
    this.address = memory.reserve(slots.count() * pageBytes, pageBytes);
    this.mappings = new SlotMappings(forReading, address, pageBytes, slots.count());
  }

  @Override
  public long address() {
    return address;
  }

  @Override
  public void map(long begin, long endByte) {
    map((int) (begin / pageBytes), endSlot(endByte));
  }

  private synchronized void map(int first, int end) {
    plan(first, end);
    mappings.settle(first, end);
  }

  @Override
  public synchronized void mapAhead(long endByte) {
    int end = endSlot(endByte);
    plan(0, end);
    if (!mappings.isSettled()) {
      ahead.execute(() -> mapInSteps(end));
    }
  }

  private void mapInSteps(int end) {
    try {
      int slot = 0;
      while (slot < end && mapIfUsed(slot, Math.min(end, slot + PAGES_AHEAD))) {
        slot += PAGES_AHEAD;
      }
    } catch (CudaException e) {
      LOG.log(Level.DEBUG, "pages are left to the run that needs them", e);
    }
  }

  /** Returns false when the addresses are gone. */
  private synchronized boolean mapIfUsed(int first, int end) {
    if (users > 0) {
      map(first, end);
    }
    return users > 0;
  }

  private int endSlot(long endByte) {
    return (int) Math.min(slots, Math.ceilDiv(endByte, pageBytes));
  }

  private void plan(int first, int end) {
    for (int slot = first; slot < end; slot++) {
      int entry = SlotTable.entry(table, slot);
      if (entry > 0) {
        mappings.plan(slot, pages[entry - 1]);
      }
    }
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
