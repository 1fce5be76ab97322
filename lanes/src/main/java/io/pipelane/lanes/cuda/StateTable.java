package io.pipelane.lanes.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.pipelane.lanes.cpu.SharedMemory;
import java.lang.invoke.VarHandle;

/**
 * The table, in memory of all processes, that says which memory lies at each page of a device's
 * states: a number that no other has had, or 0. One process writes; a reader sees what was put
 * there before whatever told him to look.
 */
public final class StateTable implements AutoCloseable {
  /** In front of the pages' numbers stands how often one has changed. */
  private static final int CHANGES = 0;

  private static final long SYSTEM_PAGE_BYTES = 4096;

  private static final VarHandle ENTRY = JAVA_INT.varHandle();

  private final SharedMemory memory;

  private StateTable(SharedMemory memory) {
    this.memory = memory;
  }

  /** A table of pages without memory. */
  static StateTable create(int pages) {
    return new StateTable(SharedMemory.allocate("pipelane-states", bytes(pages)));
  }

  /** Another process's. */
  public static StateTable open(long process, int descriptor, int pages) {
    return new StateTable(SharedMemory.open(process, descriptor, bytes(pages)));
  }

  /** In whole pages of the system. */
  private static long bytes(int pages) {
    return Math.ceilDiv((1L + pages) * Integer.BYTES, SYSTEM_PAGE_BYTES) * SYSTEM_PAGE_BYTES;
  }

  public int descriptor() {
    return memory.descriptor();
  }

  void set(int page, int number) {
    put(1L + page, number);
    put(CHANGES, changes() + 1);
  }

  public int number(int page) {
    return get(1L + page);
  }

  public int changes() {
    return get(CHANGES);
  }

  private void put(long index, int value) {
    ENTRY.setRelease(memory.segment(), index * Integer.BYTES, value);
  }

  private int get(long index) {
    return (int) ENTRY.getAcquire(memory.segment(), index * Integer.BYTES);
  }

  @Override
  public void close() {
    memory.close();
  }
}
