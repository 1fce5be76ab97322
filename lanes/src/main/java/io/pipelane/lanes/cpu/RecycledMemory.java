package io.pipelane.lanes.cpu;

import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Memory of this process that goes from one user to the next without going back to the system. The
 * system would have to zero it again, and to fault it in, page by page. Safe for any thread.
 */
public final class RecycledMemory {
  /*
   * A stretch is a range of addresses with memory under it, taken or free. A free stretch is taken
   * again as it is, pinned if it was, where the size is the same to the page: variants of a model
   * are of one size. Otherwise huge pages move out of free stretches to the addresses of the new
   * one (mremap, page tables and all), the largest runs of them first, and new memory makes up the
   * rest. So every free huge page serves whoever comes, and whoever comes has contiguous memory.
   * The ragged end of a stretch, less than a huge page, is always new unless the size is the same.
   *
   * A stretch is made of few runs: each is a mapping of the system's, of which a process has
   * 65,530.
   *
   * What was free is not zeroed: it holds what its last user left. Each taking has an arena of its
   * own, so that segments of the last user are dead.
   *
   * takenBytes + freeBytes is at most boundBytes, or nothing is free: more can be taken than the
   * bound, if whoever takes it wants to.
   */
  private static final System.Logger LOG = System.getLogger(RecycledMemory.class.getName());
  private static final long HUGE = LibC.HUGE_PAGE_BYTES;
  private static final int MOST_RUNS = 32;
  private static final long STEP_BYTES = 16 * HUGE;

  private final Function<MemorySegment, AutoCloseable> pinning;
  private final Deque<Stretch> free = new ArrayDeque<>(); // Longest free first.
  private long boundBytes;
  private long takenBytes;
  private long freeBytes;

  /** Huge pages at consecutive addresses, in one mapping of the system's. */
  private record Run(Stretch stretch, long address, long bytes) {}

  /**
   * Keeps nothing until it is told a bound.
   *
   * @param pinning makes memory known to devices until what it answers is closed
   */
  public RecycledMemory(Function<MemorySegment, AutoCloseable> pinning) {
    this.pinning = pinning;
  }

  /** Memory that nobody pins. */
  public static RecycledMemory unpinned() {
    return new RecycledMemory(memory -> () -> {});
  }

  /** Gives free memory back until all of it, with what is taken, is within a bound. */
  public synchronized void keepWithin(long bytes) {
    boundBytes = bytes;
    trim();
  }

  /**
   * Takes memory, whose content is whatever its last user left.
   *
   * @param bytes positive; whole pages of the system are taken
   * @throws io.pipelane.config.StatusException when the system has none
   */
  public synchronized Taken take(long bytes) {
    long size = LibC.wholePages(bytes);
    Stretch stretch = sameSize(size).orElseGet(() -> composed(size));
    takenBytes += size;
    trim();
    return new Taken(stretch, bytes);
  }

  private Optional<Stretch> sameSize(long size) {
    for (Iterator<Stretch> each = free.descendingIterator(); each.hasNext(); ) {
      Stretch stretch = each.next();
      if (stretch.isWhole() && stretch.byteSize() == size) {
        each.remove();
        freeBytes -= size;
        return Optional.of(stretch);
      }
    }
    return Optional.empty();
  }

  private Stretch composed(long size) {
    Stretch fresh = new Stretch(size);
    try {
      long filled = 0;
      for (Run run : largestRuns()) {
        long bytes = Math.min(run.bytes, (size - filled) / HUGE * HUGE);
        if (bytes > 0 && fresh.runs.size() < MOST_RUNS && move(run, bytes, fresh, filled)) {
          filled += bytes;
        }
      }
      fresh.mapFrom(filled);
      return fresh;
    } catch (RuntimeException | Error e) {
      fresh.close();
      throw e;
    }
  }

  private List<Run> largestRuns() {
    return free.stream()
        .flatMap(stretch -> stretch.runs.stream())
        .sorted(Comparator.comparingLong(Run::bytes).reversed())
        .toList();
  }

  /**
   * Moves the end of a run; where the system cannot, it gets that back, and the answer is false.
   */
  private boolean move(Run run, long bytes, Stretch to, long offset) {
    Stretch from = run.stretch;
    from.unpin();
    long source = run.address + run.bytes - bytes;
    boolean moved = LibC.moveTablesAt(to.address() + offset, bytes, source);
    if (moved) {
      to.runs.add(new Run(to, to.address() + offset, bytes));
    } else {
      LibC.madvise(source, bytes, LibC.ADVICE_DONTNEED);
    }
    shrink(from, run, bytes);
    return moved;
  }

  /** Takes the end of a run, whose memory has gone, out of a free stretch. */
  private void shrink(Stretch from, Run run, long bytes) {
    long before = from.memoryBytes();
    from.forget(run, bytes);
    freeBytes -= before - from.memoryBytes();
    if (from.memoryBytes() == 0) {
      free.remove(from);
      from.close();
    }
  }

  /**
   * Takes a part of some memory from the system ahead of whoever takes it, if there is less and the
   * bound allows it; some milliseconds. Called by one thread at a time.
   *
   * @param bytes how much is to be free in the end
   * @return whether something was missing
   */
  public boolean prepare(long bytes) {
    synchronized (this) {
      if (freeBytes >= bytes || takenBytes + freeBytes + STEP_BYTES > boundBytes) {
        return false;
      }
    }
    Stretch fresh = new Stretch(STEP_BYTES);
    try {
      fresh.mapFrom(0);
      fresh.populate();
    } catch (RuntimeException | Error e) {
      fresh.close();
      throw e;
    }
    synchronized (this) {
      add(fresh);
    }
    return true;
  }

  private void add(Stretch stretch) {
    free.addLast(stretch);
    freeBytes += stretch.memoryBytes();
    trim();
  }

  private synchronized void giveBack(Stretch stretch) {
    takenBytes -= stretch.byteSize();
    add(stretch);
  }

  private void trim() {
    while (freeBytes > 0 && takenBytes + freeBytes > boundBytes) {
      long excess = takenBytes + freeBytes - boundBytes;
      Stretch oldest = free.getFirst();
      if (oldest.runs.isEmpty() || excess >= oldest.memoryBytes()) {
        free.removeFirst();
        freeBytes -= oldest.memoryBytes();
        oldest.close();
      } else {
        Run last = oldest.runs.getLast();
        long bytes = Math.min(last.bytes, Math.ceilDiv(excess, HUGE) * HUGE);
        oldest.unpin();
        LibC.madvise(last.address + last.bytes - bytes, bytes, LibC.ADVICE_DONTNEED);
        shrink(oldest, last, bytes);
      }
    }
  }

  /** What is kept for the next, in bytes. */
  public synchronized long freeBytes() {
    return freeBytes;
  }

  /** What is taken, in bytes. */
  public synchronized long takenBytes() {
    return takenBytes;
  }

  /** What the system has given, in bytes: taken or free. */
  synchronized long totalBytes() {
    return takenBytes + freeBytes;
  }

  /** Addresses with memory under them. Guarded by the pool while it is free. */
  private final class Stretch {
    private final Reservation addresses;
    private final List<Run> runs = new ArrayList<>();
    private long tailBytes;
    private Optional<AutoCloseable> pin = Optional.empty();

    Stretch(long size) {
      addresses = Reservation.of(size, HUGE);
    }

    long address() {
      return addresses.address();
    }

    long byteSize() {
      return addresses.memory().byteSize();
    }

    long memoryBytes() {
      return runs.stream().mapToLong(Run::bytes).sum() + tailBytes;
    }

    /** Whether nothing of it has been moved or given back. */
    boolean isWhole() {
      return memoryBytes() == byteSize();
    }

    /** Puts new memory under all addresses from an offset on, a whole number of huge pages. */
    void mapFrom(long offset) {
      long bytes = byteSize() - offset;
      if (bytes > 0) {
        LibC.mapMemoryAt(address() + offset, bytes);
        LibC.madvise(address() + offset, bytes, LibC.ADVICE_HUGEPAGE);
        tailBytes = bytes % HUGE;
        if (bytes > tailBytes) {
          runs.add(new Run(this, address() + offset, bytes - tailBytes));
        }
      }
    }

    void populate() {
      if (!LibC.madvise(address(), byteSize(), LibC.ADVICE_POPULATE_WRITE)) {
        addresses.memory().fill((byte) 0);
      }
    }

    /** The end of a run is no longer there, nor is then the ragged end. */
    void forget(Run run, long bytes) {
      if (tailBytes > 0) {
        long tail = address() + byteSize() - tailBytes;
        LibC.madvise(tail, tailBytes, LibC.ADVICE_DONTNEED);
        tailBytes = 0;
      }
      int index = runs.indexOf(run);
      if (bytes == run.bytes) {
        runs.remove(index);
      } else {
        runs.set(index, new Run(this, run.address, run.bytes - bytes));
      }
    }

    void pin() {
      if (pin.isEmpty()) {
        pin = Optional.of(pinning.apply(addresses.memory()));
      }
    }

    void unpin() {
      if (pin.isPresent()) {
        AutoCloseable undone = pin.get();
        pin = Optional.empty();
        try {
          undone.close();
        } catch (Exception e) {
          LOG.log(Level.WARNING, "memory of " + byteSize() + " bytes cannot be unpinned", e);
        }
      }
    }

    void close() {
      unpin();
      addresses.close();
    }
  }

  /** Somebody's memory, until it is closed. */
  public final class Taken implements AutoCloseable {
    private final Stretch stretch;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory;
    private boolean closed;

    private Taken(Stretch stretch, long bytes) {
      this.stretch = stretch;
      this.memory = MemorySegment.ofAddress(stretch.address()).reinterpret(bytes, arena, null);
    }

    /** As many bytes as were asked for; dead once this is closed. */
    public MemorySegment memory() {
      return memory;
    }

    /** Has devices know it, if they do not; they know whole pages of the system. */
    public void pin() {
      stretch.pin();
    }

    /**
     * Gives it to the next; whoever calls it sees to it that no device reads it any more.
     *
     * @throws IllegalStateException while somebody accesses the memory
     */
    @Override
    public synchronized void close() {
      if (!closed) {
        arena.close();
        closed = true;
        giveBack(stretch);
      }
    }
  }
}
