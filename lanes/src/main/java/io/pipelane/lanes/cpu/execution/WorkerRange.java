package io.pipelane.lanes.cpu.execution;

import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.MappedRange;
import io.pipelane.lanes.cpu.LibC;
import io.pipelane.lanes.cpu.Reservation;
import io.pipelane.lanes.cpu.SessionRanges;
import io.pipelane.lanes.cpu.SlotTable;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * A worker process's addresses for a range: maps, for reading, what the slot table says lies under
 * its slots. Safe for any thread.
 */
public final class WorkerRange implements MappedRange {
  /*
   * `mapped` is what lies under each slot here. The table may say otherwise at any time, but only
   * for slots that nobody runs on. Whoever runs asks for what he needs before he reads it. By then
   * the table has it, and keeps it until the run is over. The monitor guards everything.
   */
  private static final int NOTHING = 0;

  private final int pages;
  private final long pageBytes;
  private final MemorySegment table;
  private final Reservation reservation;
  private final int[] mapped;
  private int users;

  WorkerRange(int pages, long pageBytes, MemorySegment slotTable, ExportedSlots slots) {
    this.pages = pages;
    this.pageBytes = pageBytes;
    this.table = slotTable.asSlice(slots.offset(), (long) slots.count() * Integer.BYTES);
    this.reservation = Reservation.of(slots.count() * pageBytes, pageBytes);
    this.mapped = new int[slots.count()];
  }

  @Override
  public long address() {
    return reservation.address();
  }

  @Override
  public synchronized void map(long begin, long endByte) {
    int end = (int) Math.min(mapped.length, Math.ceilDiv(endByte, pageBytes));
    int slot = (int) (begin / pageBytes);
    while (slot < end) {
      int page = at(slot);
      if (page == mapped[slot] || page == NOTHING) {
        slot++;
      } else {
        slot = mapRun(slot, page, end);
      }
    }
  }

  /** Maps pages that follow each other in memory in one go; notes them once they are mapped. */
  private int mapRun(int first, int page, int end) {
    int count = 1; // The table may change meanwhile where no run has the pages.
    while (first + count < end && at(first + count) == page + count) {
      count++;
    }
    Arrays.fill(mapped, first, first + count, NOTHING);
    LibC.mapReadOnlyAt(
        address() + first * pageBytes, count * pageBytes, pages, (page - 1) * pageBytes, true);
    for (int i = 0; i < count; i++) {
      mapped[first + i] = page + i;
    }
    return first + count;
  }

  private int at(int slot) {
    return SlotTable.entry(table, slot);
  }

  /** Puts other memory under all slots for a while; nothing runs on the range meanwhile. */
  synchronized SessionRanges.Scratch scratch() {
    Arrays.fill(mapped, NOTHING);
    LibC.mapMemoryAt(address(), mapped.length * pageBytes);
    return this::clear;
  }

  private synchronized void clear() {
    Arrays.fill(mapped, NOTHING);
    LibC.mapNothingAt(address(), mapped.length * pageBytes);
  }

  /** Takes no memory while it is only read. */
  @Override
  public Blank blank() {
    return scratch()::close;
  }

  synchronized WorkerRange shared() {
    users++;
    return this;
  }

  /** Returns true when that was the last user; the addresses are gone then. */
  synchronized boolean unshared() {
    users--;
    if (users == 0) {
      reservation.close();
    }
    return users == 0;
  }
}
