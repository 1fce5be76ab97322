package io.pipelane.lanes.cuda.worker;

import io.pipelane.lanes.cuda.PageHandover;
import io.pipelane.lanes.cuda.StateTable;
import io.pipelane.lanes.cuda.driver.DeviceSegment;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import io.pipelane.lanes.descriptors.UnixSocket;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/**
 * The states of a server's device as a worker process has them, to read and to write: memory that
 * outlives the process, mapped when a run first needs it. Safe for any thread.
 */
public final class CudaWorkerStates {
  /*
   * What a run needs was in the table before the run was told of, and stays there until it is over.
   * A page whose number is another's by now, or nobody's, is in no run.
   */
  private final VirtualMemory memory;
  private final String handover;
  private final StateTable table;
  private final long pageBytes;
  private final long addressBytes;
  private final long address;
  private final int[] numbers;
  private final long[] handles;
  private final BitSet mapped = new BitSet();
  private int changesSeen;

  CudaWorkerStates(VirtualMemory memory, String handover, StateTable table, int pages) {
    this.memory = memory;
    this.handover = handover;
    this.table = table;
    this.pageBytes = memory.granularity();
    this.addressBytes = pages * pageBytes;
    this.address = memory.reserve(addressBytes, pageBytes);
    this.numbers = new int[pages];
    this.handles = new long[pages];
  }

  /**
   * Maps what a run reads or writes.
   *
   * @param offset as the server says it
   */
  synchronized MemorySegment at(long offset, long bytes) {
    if (offset < 0 || offset >= addressBytes || bytes > addressBytes - offset) {
      throw new IllegalArgumentException(
          "%d bytes of states at %d, beyond %d".formatted(bytes, offset, addressBytes));
    }
    int page = (int) (offset / pageBytes);
    int end = (int) Math.ceilDiv(offset + Math.max(1, bytes), pageBytes);
    while (page < end) {
      int first = page;
      while (page < end && page - first < UnixSocket.MOST_DESCRIPTORS && !isMapped(page)) {
        page++;
      }
      if (page > first) {
        map(first, page);
      } else {
        page++;
      }
    }
    return DeviceSegment.of(address + offset, bytes);
  }

  private boolean isMapped(int page) {
    return numbers[page] != 0 && numbers[page] == table.number(page);
  }

  private void map(int first, int end) {
    for (int page = first; page < end; page++) {
      drop(page);
    }
    long[] taken = PageHandover.takeStates(memory, handover, first, end - first);
    int page = first;
    try {
      for (; page < end; page++) {
        memory.map(addressOf(page), pageBytes, taken[page - first]);
      }
      memory.allowAccess(addressOf(first), (end - first) * pageBytes);
    } catch (RuntimeException e) {
      for (int i = first; i < page; i++) {
        memory.unmap(addressOf(i), pageBytes);
      }
      for (long handle : taken) {
        memory.release(handle);
      }
      throw e;
    }
    for (int i = first; i < end; i++) {
      handles[i] = taken[i - first];
      numbers[i] = table.number(i);
      mapped.set(i);
    }
  }

  private void drop(int page) {
    if (mapped.get(page)) {
      memory.unmap(addressOf(page), pageBytes);
      memory.release(handles[page]);
      numbers[page] = 0;
      mapped.clear(page);
    }
  }

  private long addressOf(int page) {
    return address + page * pageBytes;
  }

  /** Whether all of some memory is of this. */
  boolean contains(MemorySegment segment) {
    long offset = segment.address() - address;
    return offset >= 0 && offset < addressBytes && segment.byteSize() <= addressBytes - offset;
  }

  /** Lets go of what the server has given back; costs nothing where it has not. */
  synchronized void tidy() {
    int changes = table.changes();
    if (changes != changesSeen) {
      changesSeen = changes;
      for (int page = mapped.nextSetBit(0); page >= 0; page = mapped.nextSetBit(page + 1)) {
        if (!isMapped(page)) {
          drop(page);
        }
      }
    }
  }
}
