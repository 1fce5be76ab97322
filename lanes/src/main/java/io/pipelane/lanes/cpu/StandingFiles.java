package io.pipelane.lanes.cpu;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * The weights files that have been copied out of, mapped so that pages can show parts of them. Safe
 * for any thread.
 *
 * <p>A file is known by the lifetime of the mapping that it was found in: addresses are used again
 * for other files, a lifetime is not.
 */
final class StandingFiles implements AutoCloseable {
  private record Part(StandingFile file, int number) {}

  private final long partBytes;
  private final Map<MemorySegment.Scope, StandingFile> files = new HashMap<>();
  private final Queue<Part> unwritten = new ArrayDeque<>();

  StandingFiles(long partBytes) {
    this.partBytes = partBytes;
  }

  /** Whether memory can be shown: a file's, mapped. */
  private static boolean canBeShown(MemorySegment memory) {
    return memory.isMapped() && memory.address() % LibC.SYSTEM_PAGE_BYTES == 0;
  }

  /** The file that memory maps, if it stands. */
  synchronized @Nullable StandingFile find(MemorySegment memory) {
    return canBeShown(memory) ? files.get(memory.scope()) : null;
  }

  /** Has a stretch of a file stand from some time on; the memory is there during the call. */
  synchronized void keep(MemorySegment memory, long offset, long bytes) {
    if (!canBeShown(memory) || bytes == 0) {
      return;
    }
    dropLeft();
    StandingFile file =
        files.computeIfAbsent(memory.scope(), _ -> new StandingFile(memory, partBytes));
    int last = (int) ((offset + bytes - 1) / partBytes);
    for (int part = (int) (offset / partBytes); part <= last; part++) {
      if (!file.isWritten(part)) {
        unwritten.add(new Part(file, part));
      }
    }
  }

  private void dropLeft() {
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
    unwritten.clear();
  }
}
