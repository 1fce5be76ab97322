package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.ExportedSlots;
import io.pipelane.lanes.allocation.FreeList;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * Shared memory that says which page lies under which slot of every range, for processes that map
 * them. Safe for any thread.
 *
 * <p>An entry is the page's index and one, or 0 where there is none. This process alone writes; a
 * reader sees what was put there before whatever told it to look.
 */
public final class SlotTable implements AutoCloseable {
  static final VarHandle ENTRY = JAVA_INT.varHandle();

  /** Sixteen million slots; memory is taken as it is written. */
  private static final long BYTES = 64L << 20;

  private final SharedMemory memory = SharedMemory.allocate("pipelane-slots", BYTES);
  private final FreeList places = new FreeList();
  private long ranges;

  public SlotTable() {
    places.resize(BYTES);
  }

  public SharedMemory memory() {
    return memory;
  }

  /** Makes room for a range's slots, all empty. */
  public synchronized PublishedSlots publish(int slots) {
    long bytes = (long) slots * Integer.BYTES;
    long offset = places.allocate(bytes);
    if (offset < 0) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "workers are told of at most %s of slots; use a larger device.page-size"
              .formatted(new ByteSize(BYTES)));
    }
    MemorySegment entries = memory.segment().asSlice(offset, bytes);
    entries.fill((byte) 0);
    ExportedSlots exported = new ExportedSlots(ranges++, offset, slots);
    return new PublishedSlots(entries, exported, () -> free(offset));
  }

  /** What a part of a table says of a slot: the page's index and one, or 0; in any process. */
  public static int entry(MemorySegment entries, int slot) {
    return (int) ENTRY.getAcquire(entries, (long) slot * Integer.BYTES);
  }

  private synchronized void free(long offset) {
    places.free(offset);
  }

  @Override
  public void close() {
    memory.close();
  }
}
