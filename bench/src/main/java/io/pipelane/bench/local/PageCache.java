package io.pipelane.bench.local;

import io.pipelane.runtime.NativeFunction;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;

/** The system's page cache, through the C library. */
public final class PageCache {
  private static final int READ_ONLY = 0;

  /** POSIX_FADV_DONTNEED on Linux. */
  private static final int DO_NOT_NEED = 4;

  private static final NativeFunction OPEN = NativeFunction.of("open");
  private static final NativeFunction ADVISE = NativeFunction.of("posix_fadvise");
  private static final NativeFunction SYNC = NativeFunction.of("fsync");
  private static final NativeFunction CLOSE = NativeFunction.of("close");

  private PageCache() {}

  /**
   * Forgets a file's content, which nobody may have mapped; the next to read it reads the disk.
   *
   * @throws IOException when the system refuses
   */
  public static void drop(Path file) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      long name = arena.allocateFrom(file.toString()).address();
      int descriptor = (int) OPEN.call(name, READ_ONLY, 0);
      if (descriptor < 0) {
        throw new IOException("cannot open " + file);
      }
      int synced = (int) SYNC.call(descriptor, 0, 0); // What is not on disk yet is not forgotten.
      int advised = (int) ADVISE.call(descriptor, 0, 0, DO_NOT_NEED, 0, 0, 0);
      int closed = (int) CLOSE.call(descriptor, 0, 0);
      if (synced != 0 || advised != 0 || closed != 0) {
        throw new IOException(
            "%s stays in the page cache: fsync %d, posix_fadvise %d, close %d"
                .formatted(file, synced, advised, closed));
      }
    }
  }
}
