package io.pipelane.lanes.cpu;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.PagePool.Page;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Reserved addresses that pages of the memfd are mapped into. */
final class CpuAddressRange implements AddressRange {
  /*
   * Slots belong to the memory daemon's thread, which maps and unmaps; copies pin the slots they
   * write from their enqueueing to their end, on any thread. The object's monitor guards both, so
   * that a copy never meets a slot without a page. Nobody waits under it.
   */

  private final CpuPagePool pages;
  private final long pageBytes;
  private final Reservation reservation;
  private final Consumer<CpuAddressRange> onClose;
  private final @Nullable Page[] slots;
  private final int[] copiesInFlight;
  private int mapped;
  private boolean lent;
  private boolean closed;

  CpuAddressRange(CpuPagePool pages, int slots, Consumer<CpuAddressRange> onClose) {
    this.pages = pages;
    this.pageBytes = pages.pageBytes();
    this.reservation = Reservation.of(slots * pageBytes, pageBytes);
    this.onClose = onClose;
    this.slots = new @Nullable Page[slots];
    this.copiesInFlight = new int[slots];
  }

  @Override
  public long address() {
    return reservation.address();
  }

  @Override
  public long byteSize() {
    return slots.length * pageBytes;
  }

  @Override
  public int slots() {
    return slots.length;
  }

  @Override
  public synchronized void map(int slot, Page page) {
    requireOpen();
    Objects.checkIndex(slot, slots.length);
    if (lent) {
      throw new IllegalStateException("the range has scratch memory; close that first");
    }
    if (slots[slot] != null) {
      throw new IllegalStateException("slot " + slot + " has " + slots[slot] + " already");
    }
    pages.mapAt(addressOf(slot), page);
    slots[slot] = page;
    mapped++;
  }

  @Override
  public synchronized Page unmap(int slot) {
    requireOpen();
    Objects.checkIndex(slot, slots.length);
    Page page = slots[slot];
    if (page == null) {
      throw new IllegalStateException("slot " + slot + " has no page");
    }
    if (copiesInFlight[slot] > 0) {
      throw new IllegalStateException(
          "slot " + slot + " is being written by " + copiesInFlight[slot] + " copies; await them");
    }
    pages.unmapAt(addressOf(slot), page);
    slots[slot] = null;
    mapped--;
    return page;
  }

  @Override
  public MemorySegment memory() {
    return reservation.memory();
  }

  /**
   * Puts memory of the process under every slot, for somebody who writes there what nobody reads,
   * as a session does while it is built.
   *
   * @throws IllegalStateException when a slot has a page
   */
  synchronized Scratch scratch() {
    requireOpen();
    if (mapped > 0 || lent) {
      throw new IllegalStateException("the range has memory already: " + mapped + " pages");
    }
    LibC.mapMemoryAt(reservation.address(), byteSize());
    lent = true;
    return this::endScratch;
  }

  private synchronized void endScratch() {
    LibC.mapNothingAt(reservation.address(), byteSize());
    lent = false;
  }

  /** Memory under a range, until it is closed. */
  @FunctionalInterface
  interface Scratch extends AutoCloseable {
    @Override
    void close();
  }

  /**
   * Keeps the slots under a stretch from being unmapped until {@link #unpin}.
   *
   * @throws IndexOutOfBoundsException when the stretch leaves the range
   * @throws IllegalStateException when one of the slots has no page
   */
  synchronized void pin(long offset, long bytes) {
    requireOpen();
    Objects.checkFromIndexSize(offset, bytes, byteSize());
    for (int slot = firstSlot(offset); slot < endSlot(offset, bytes); slot++) {
      if (slots[slot] == null) {
        throw new IllegalStateException(
            "slot " + slot + " has no page; map it before copying to offset " + offset);
      }
    }
    for (int slot = firstSlot(offset); slot < endSlot(offset, bytes); slot++) {
      copiesInFlight[slot]++;
    }
  }

  synchronized void unpin(long offset, long bytes) {
    for (int slot = firstSlot(offset); slot < endSlot(offset, bytes); slot++) {
      copiesInFlight[slot]--;
    }
  }

  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    if (mapped > 0) {
      throw new IllegalStateException(mapped + " pages are still mapped; unmap them first");
    }
    reservation.close();
    closed = true;
    onClose.accept(this);
  }

  /** Closes the range whatever is mapped; only when its pages go as well. */
  synchronized void closeWithPages() {
    for (int slot = 0; slot < slots.length; slot++) {
      if (slots[slot] != null) {
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

  private int firstSlot(long offset) {
    return (int) (offset / pageBytes);
  }

  private int endSlot(long offset, long bytes) {
    return bytes == 0 ? firstSlot(offset) : (int) ((offset + bytes - 1) / pageBytes) + 1;
  }
}
