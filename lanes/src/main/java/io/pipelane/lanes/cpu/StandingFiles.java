package io.pipelane.lanes.cpu;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * The weights files that have been copied out of more than once, mapped so that pages can show
 * parts of them. Safe for any thread.
 *
 * <p>Files whose mapping comes and goes, as there is no room for it in host memory, are copied once
 * each time: nothing is done for them.
 *
 * <p>A file is known by the lifetime of the mapping that it was found in: addresses are used again
 * for other files, a lifetime is not.
 */
final class StandingFiles implements AutoCloseable {
  private record Part(StandingFile file, int number) {}

  private final long partBytes;
  private final TableMoves moves;
  private final Map<MemorySegment.Scope, BitSet> copied = new HashMap<>();
  private final Map<MemorySegment.Scope, StandingFile> files = new HashMap<>();
  private final Queue<Part> unwritten = new ArrayDeque<>();

  StandingFiles(long partBytes, TableMoves moves) {
    this.partBytes = partBytes;
    this.moves = moves;
  }

  /** Whether memory can be shown: a file's, mapped. */
  private static boolean canBeShown(MemorySegment memory) {
    return memory.isMapped() && memory.address() % LibC.SYSTEM_PAGE_BYTES == 0;
  }

  /** The file that memory maps, if it stands. */
  synchronized @Nullable StandingFile find(MemorySegment memory) {
    return canBeShown(memory) ? files.get(memory.scope()) : null;
  }

  /**
   * Notes that a stretch of a file was copied; what has been before stands from some time on. A
   * part is copied with its first byte: two copies may have a share of one.
   *
   * @param memory there during the call
   */
  synchronized void copied(MemorySegment memory, long offset, long bytes) {
    if (!canBeShown(memory) || bytes == 0) {
      return;
    }
    dropGone();
    BitSet before = copied.computeIfAbsent(memory.scope(), _ -> new BitSet());
    int first = (int) Math.ceilDiv(offset, partBytes);
    int end = (int) Math.ceilDiv(offset + bytes, partBytes);
    before.stream().filter(part -> part >= first && part < end).forEach(part -> add(memory, part));
    before.set(first, Math.max(first, end));
  }

  private void add(MemorySegment memory, int part) {
    StandingFile file =
        files.computeIfAbsent(memory.scope(), _ -> new StandingFile(memory, partBytes, moves));
    if (file.lacks(part)) {
      unwritten.add(new Part(file, part));
    }
  }

  /** Whether any stands that nobody finds any more. */
  synchronized boolean hasGone() {
    return files.values().stream().anyMatch(StandingFile::isGone);
  }

  /** Lets go of those that nobody finds and nobody shows any more. */
  synchronized void dropGone() {
    copied.keySet().removeIf(scope -> !scope.isAlive());
    List<StandingFile> left = files.values().stream().filter(StandingFile::isLeft).toList();
    unwritten.removeIf(part -> left.contains(part.file));
    files.values().removeAll(left);
    left.forEach(StandingFile::close);
  }

  /** Writes the tables of one part; false when all are written. For one thread at a time. */
  boolean writeNext() {
    @Nullable Part next;
    synchronized (this) {
      next = unwritten.poll();
      if (next != null) {
        next.file.use();
      }
    }
    if (next == null) {
      return false;
    }
    try {
      next.file.write(next.number);
    } finally {
      next.file.leave();
    }
    return true;
  }

  /** Only when nobody shows a part. */
  @Override
  public synchronized void close() {
    files.values().forEach(StandingFile::close);
    files.clear();
    copied.clear();
    unwritten.clear();
  }
}
