package io.pipelane.modelstore.host;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

/** Reads a file into memory with a few threads, as one does not use what the disk gives. */
public final class ParallelFileReader {
  private static final long CHUNK_BYTES = 8 << 20;

  private ParallelFileReader() {}

  /**
   * Fills memory with a file's first bytes; blocks.
   *
   * @param target native memory, no longer than the file
   * @param threads at most so many
   * @throws IOException when the file is shorter, or cannot be read
   */
  public static void read(Path file, MemorySegment target, int threads) throws IOException {
    int workers = Math.clamp(Math.ceilDiv(target.byteSize(), CHUNK_BYTES), 1, threads);
    AtomicLong next = new AtomicLong();
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
        ExecutorService executor =
            Executors.newFixedThreadPool(
                workers, Thread.ofPlatform().name("read-", 0).daemon().factory())) {
      List<Future<?>> parts = new ArrayList<>();
      for (int i = 0; i < workers; i++) {
        parts.add(
            executor.submit(
                () -> {
                  readChunks(channel, target, next);
                  return null;
                }));
      }
      for (Future<?> part : parts) {
        finish(part);
      }
    }
  }

  private static void readChunks(FileChannel channel, MemorySegment target, AtomicLong next)
      throws IOException {
    long size = target.byteSize();
    for (long at = next.getAndAdd(CHUNK_BYTES); at < size; at = next.getAndAdd(CHUNK_BYTES)) {
      ByteBuffer chunk = target.asSlice(at, Math.min(CHUNK_BYTES, size - at)).asByteBuffer();
      for (long position = at; chunk.hasRemaining(); ) {
        int count = channel.read(chunk, position);
        if (count < 0) {
          throw new EOFException("the file ends at byte %d of %d".formatted(position, size));
        }
        position += count;
      }
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
