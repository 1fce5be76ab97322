package io.pipelane.lanes.cpu;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.ExportedSlots;
import io.pipelane.lanes.allocation.FreeList;
import io.pipelane.modelstore.host.HostMemory;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Shared memory that says which page lies under which slot of every range, and which host memory
 * its window shows, for processes that map them. Safe for any thread.
 *
 * <p>An entry is the page's index and one, or 0 where there is none. Behind a range's entries stand
 * its window's descriptor and number, 0 where nothing is shown, and where the entries of the range
 * begin that has a copy of that, and one. This process alone writes; a reader sees what was put
 * there before whatever told it to look.
 */
public final class SlotTable implements AutoCloseable {
  static final VarHandle ENTRY = JAVA_INT.varHandle();

  /** Sixteen million slots; memory is taken as it is written. */
  private static final long BYTES = 64L << 20;

  /** Integers behind a range's slots. */
  private static final int WINDOW = 3;

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
    long bytes = entryBytes(slots);
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

  /** What the entries of a range take, its window's included. */
  private static long entryBytes(int slots) {
    return ((long) slots + WINDOW) * Integer.BYTES;
  }

  /** A range's part of a table; in any process. */
  public static MemorySegment entries(MemorySegment table, ExportedSlots slots) {
    return table.asSlice(slots.offset(), entryBytes(slots.count()));
  }

  /** Says which host memory a range's window shows. */
  static void show(MemorySegment entries, int slots, HostMemory.Shared memory) {
    ENTRY.setRelease(entries, (long) slots * Integer.BYTES, memory.descriptor());
    ENTRY.setRelease(entries, ((long) slots + 1) * Integer.BYTES, memory.number());
  }

  /** Says that it shows nothing. */
  static void hide(MemorySegment entries, int slots) {
    ENTRY.setRelease(entries, ((long) slots + 1) * Integer.BYTES, 0);
  }

  /** Says which range has a copy of what the window shows; null for none. */
  static void showPages(MemorySegment entries, int slots, @Nullable ExportedSlots copy) {
    int place = copy == null ? 0 : Math.toIntExact(copy.offset() + 1);
    ENTRY.setRelease(entries, ((long) slots + 2) * Integer.BYTES, place);
  }

  /**
   * Where the entries begin of the range that runs read a copy in of what the window shows; in any
   * process.
   */
  public static OptionalLong shownPages(MemorySegment entries, int slots) {
    int place = (int) ENTRY.getAcquire(entries, ((long) slots + 2) * Integer.BYTES);
    return place == 0 ? OptionalLong.empty() : OptionalLong.of(place - 1L);
  }

  /** What a part of a table says that the range's window shows; in any process. */
  public static Optional<HostMemory.Shared> shown(MemorySegment entries, int slots) {
    int number = (int) ENTRY.getAcquire(entries, ((long) slots + 1) * Integer.BYTES);
    int descriptor = (int) ENTRY.getAcquire(entries, (long) slots * Integer.BYTES);
    return number == 0 ? Optional.empty() : Optional.of(new HostMemory.Shared(number, descriptor));
  }

  private synchronized void free(long offset) {
    places.free(offset);
  }

  @Override
  public void close() {
    memory.close();
  }
}
