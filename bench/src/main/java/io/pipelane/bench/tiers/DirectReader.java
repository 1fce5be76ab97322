package io.pipelane.bench.tiers;

import io.pipelane.modelstore.host.DirectFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;

/**
 * A reader of a file past the page cache with a few threads: what the disk gives, with nothing done
 * to the bytes. It keeps them, in memory that has room for all and that it always has, or throws
 * them away. Of a virtual disk the latter may be faster: small buffers that are filled again and
 * again stay in the host's caches.
 */
final class DirectReader implements AutoCloseable {
  private static final int MOST_CHUNK_BYTES = 4 << 20;
  private static final int[] CHUNK_BYTES = {256 << 10, 1 << 20, MOST_CHUNK_BYTES};

  private final Path file;
  private final long bytes;
  private final int threads;
  private final int alignment;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment kept;

  /** Takes memory for all of a file. */
  DirectReader(Path file, int threads) throws IOException {
    this.file = file;
    this.bytes = Files.size(file);
    this.threads = threads;
    this.alignment = Math.toIntExact(Files.getFileStore(file).getBlockSize());
    long whole = Math.ceilDiv(bytes, MOST_CHUNK_BYTES) * MOST_CHUNK_BYTES;
    this.kept = arena.allocate(whole, alignment).fill((byte) 1);
  }

  /** A place for what is read at an offset. */
  private interface Places {
    ByteBuffer at(long offset, int chunkBytes);
  }

  /**
   * Reads all of the file in chunks of some sizes, and keeps it.
   *
   * @return bytes a second, with those of the best size
   * @throws IOException when the file system reads nothing past the page cache, or fails
   */
  double bytesPerSecond() throws IOException, InterruptedException {
    return best(_ -> (at, chunkBytes) -> kept.asSlice(at, chunkBytes).asByteBuffer());
  }

  /** The same, where each thread has one buffer. */
  double thrownAwayBytesPerSecond() throws IOException, InterruptedException {
    return best(
        size -> {
          ByteBuffer buffer = ByteBuffer.allocateDirect(size + alignment).alignedSlice(alignment);
          return (_, chunkBytes) -> buffer.clear().limit(chunkBytes);
        });
  }

  private double best(IntFunction<Places> ofThread) throws IOException, InterruptedException {
    double best = 0;
    for (int chunkBytes : CHUNK_BYTES) {
      best = Math.max(best, bytesPerSecond(chunkBytes, ofThread));
    }
    return best;
  }

  private double bytesPerSecond(int chunkBytes, IntFunction<Places> ofThread)
      throws IOException, InterruptedException {
    AtomicLong next = new AtomicLong();
    long begin = System.nanoTime();
    try (FileChannel channel =
            FileChannel.open(file, StandardOpenOption.READ, DirectFile.pastThePageCache());
        ExecutorService executor = Executors.newFixedThreadPool(threads)) {
      List<Future<?>> readers = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        readers.add(
            executor.submit(
                () -> {
                  read(channel, next, chunkBytes, ofThread.apply(chunkBytes));
                  return null;
                }));
      }
      for (Future<?> reader : readers) {
        reader.get();
      }
    } catch (ExecutionException e) {
      throw new IOException("reading " + file + " failed: " + e.getCause(), e);
    }
    return bytes * 1e9 / (System.nanoTime() - begin);
  }

  private void read(FileChannel channel, AtomicLong next, int chunkBytes, Places places)
      throws IOException {
    for (long at = next.getAndAdd(chunkBytes); at < bytes; at = next.getAndAdd(chunkBytes)) {
      long expected = Math.min(chunkBytes, bytes - at);
      if (channel.read(places.at(at, chunkBytes), at) < expected) {
        throw new IOException("a read at byte " + at + " ended early");
      }
    }
  }

  @Override
  public void close() {
    arena.close();
  }
}
