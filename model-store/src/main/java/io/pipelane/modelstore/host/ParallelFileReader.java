package io.pipelane.modelstore.host;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A reader of a file into memory with a few threads, as one does not use what the disk gives. It
 * reads past the page cache, so that nothing is copied on the way ({@link DirectFile}).
 */
public final class ParallelFileReader {
  /** Small enough that the first bytes are there soon, large enough for the disk's full rate. */
  private static final long CHUNK_BYTES = 2 << 20;

  private ParallelFileReader() {}

  /**
   * Fills memory with a file's first bytes; blocks.
   *
   * @param target native memory, no longer than the file; direct reads need it to begin at a page
   * @param threads at most so many
   * @param filling told of what has come
   * @throws IOException when the file is shorter, or cannot be read
   */
  public static void read(Path file, MemorySegment target, int threads, Filling filling)
      throws IOException {
    int workers = Math.clamp(Math.ceilDiv(target.byteSize(), CHUNK_BYTES), 1, threads);
    AtomicLong next = new AtomicLong();
    filling.begun(target);
    try (DirectFile source = DirectFile.open(file);
        ExecutorService executor =
            Executors.newFixedThreadPool(
                workers, Thread.ofPlatform().name("read-", 0).daemon().factory())) {
      List<Future<?>> parts = new ArrayList<>();
      for (int i = 0; i < workers; i++) {
        parts.add(
            executor.submit(
                () -> {
                  readChunks(source, target, next, filling);
                  return null;
                }));
      }
      for (Future<?> part : parts) {
        finish(part);
      }
    }
  }

  private static void readChunks(
      DirectFile source, MemorySegment target, AtomicLong next, Filling filling)
      throws IOException {
    long size = target.byteSize();
    for (long at = next.getAndAdd(CHUNK_BYTES); at < size; at = next.getAndAdd(CHUNK_BYTES)) {
      long bytes = Math.min(CHUNK_BYTES, size - at);
      source.read(at, target.asSlice(at, bytes));
      filling.came(at, at + bytes);
    }
  }

  private static void finish(Future<?> part) throws IOException {
    try {
      part.get();
    } catch (ExecutionException e) {
      throw new IOException("reading in parallel failed: " + e.getCause(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("reading was interrupted", e);
    }
  }
}
