package io.pipelane.bench.tiers;

import io.pipelane.bench.measure.Medians;
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
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * A reader of a file past the page cache with a few threads: what the disk gives, with nothing done
 * to the bytes. It keeps them, in memory that has room for all and that it always has, or throws
 * them away. Of a virtual disk the latter may be faster: small buffers that are filled again and
 * again stay in the host's caches.
 */
final class DirectReader implements AutoCloseable {
  private static final List<Integer> CHUNK_BYTES = List.of(256 << 10, 1 << 20, 4 << 20);
  private static final int TRIALS = 3;

  private final Path file;
  private final long bytes;
  private final int threads;
  private final int alignment;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment kept;
  private final int chunkBytes;

  /**
   * Takes memory for all of a file, and reads it some times with each size of chunks; that with the
   * best median stays. The best of each measurement would be the luckiest rather than the disk's.
   *
   * @throws IOException when the file system reads nothing past the page cache, or fails
   */
  DirectReader(Path file, int threads) throws IOException, InterruptedException {
    this.file = file;
    this.bytes = Files.size(file);
    this.threads = threads;
    this.alignment = Math.toIntExact(Files.getFileStore(file).getBlockSize());
    long most = Collections.max(CHUNK_BYTES);
    this.kept = arena.allocate(Math.ceilDiv(bytes, most) * most, alignment).fill((byte) 1);
    this.chunkBytes = bestChunkBytes();
  }

  private int bestChunkBytes() throws IOException, InterruptedException {
    Map<Integer, List<Double>> rates = new LinkedHashMap<>();
    for (int trial = 0; trial < TRIALS; trial++) {
      for (int size : CHUNK_BYTES) {
        rates.computeIfAbsent(size, _ -> new ArrayList<>()).add(keepingBytesPerSecond(size));
      }
    }
    return Collections.max(
        CHUNK_BYTES,
        Comparator.comparingDouble(size -> Medians.of(rates.getOrDefault(size, List.of()))));
  }

  /** A place for what is read at an offset. */
  private interface Places {
    ByteBuffer at(long offset, int bytes);
  }

  /**
   * Reads all of the file and keeps it.
   *
   * @return bytes a second
   * @throws IOException when reading fails
   */
  double bytesPerSecond() throws IOException, InterruptedException {
    return keepingBytesPerSecond(chunkBytes);
  }

  private double keepingBytesPerSecond(int size) throws IOException, InterruptedException {
    return bytesPerSecond(size, () -> (at, bytes) -> kept.asSlice(at, bytes).asByteBuffer());
  }

  /** The same, where each thread has one buffer. */
  double thrownAwayBytesPerSecond() throws IOException, InterruptedException {
    return bytesPerSecond(
        chunkBytes,
        () -> {
          ByteBuffer buffer =
              ByteBuffer.allocateDirect(chunkBytes + alignment).alignedSlice(alignment);
          return (_, bytes) -> buffer.clear().limit(bytes);
        });
  }

  private double bytesPerSecond(int size, Supplier<Places> ofThread)
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
                  read(channel, next, size, ofThread.get());
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

  private void read(FileChannel channel, AtomicLong next, int size, Places places)
      throws IOException {
    for (long at = next.getAndAdd(size); at < bytes; at = next.getAndAdd(size)) {
      long expected = Math.min(size, bytes - at);
      if (channel.read(places.at(at, size), at) < expected) {
        throw new IOException("a read at byte " + at + " ended early");
      }
    }
  }

  @Override
  public void close() {
    arena.close();
  }
}
