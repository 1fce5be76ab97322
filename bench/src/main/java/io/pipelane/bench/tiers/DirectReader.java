package io.pipelane.bench.tiers;

import io.pipelane.modelstore.host.DirectFile;
import java.io.IOException;
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

/**
 * A reader of a file past the page cache with a few threads, which throws it away: what the disk
 * gives, with nothing done to the bytes.
 */
final class DirectReader {
  private static final int[] CHUNK_BYTES = {256 << 10, 1 << 20, 4 << 20};

  private DirectReader() {}

  /**
   * Reads all of a file in chunks of some sizes.
   *
   * @return bytes a second, with those of the best size
   * @throws IOException when the file system reads nothing past the page cache, or fails
   */
  static double bytesPerSecond(Path file, int threads) throws IOException, InterruptedException {
    double best = 0;
    for (int chunkBytes : CHUNK_BYTES) {
      best = Math.max(best, bytesPerSecond(file, threads, chunkBytes));
    }
    return best;
  }

  private static double bytesPerSecond(Path file, int threads, int chunkBytes)
      throws IOException, InterruptedException {
    int alignment = Math.toIntExact(Files.getFileStore(file).getBlockSize());
    long bytes = Files.size(file);
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
                  read(channel, bytes, next, chunkBytes, alignment);
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

  private static void read(
      FileChannel channel, long bytes, AtomicLong next, int chunkBytes, int alignment)
      throws IOException {
    ByteBuffer buffer = ByteBuffer.allocateDirect(chunkBytes + alignment).alignedSlice(alignment);
    for (long at = next.getAndAdd(chunkBytes); at < bytes; at = next.getAndAdd(chunkBytes)) {
      buffer.clear().limit(chunkBytes);
      long expected = Math.min(chunkBytes, bytes - at);
      if (channel.read(buffer, at) < expected) {
        throw new IOException("a read at byte " + at + " ended early");
      }
    }
  }
}
