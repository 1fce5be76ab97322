package io.pipelane.bench.tiers;

import io.pipelane.config.ByteSize;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.Filling;
import io.pipelane.modelstore.host.HostMemory;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.modelstore.host.ParallelFileReader;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What weights on disk go through on their way to a GPU, but for its driver: a host tier that is
 * filled by direct reads, and a transfer that follows them through staging buffers.
 */
final class FilledTier {
  private static final int READERS = 4;
  private static final long BUFFER_BYTES = 8L << 20;

  private FilledTier() {}

  /** Bytes a second from the lease until the last byte has passed a staging buffer. */
  static double bytesPerSecond(Path weights, long bytes) {
    try (HostTier tier = HostTier.filling(new ByteSize(bytes), new Unpinned());
        Arena arena = Arena.ofConfined()) {
      MemorySegment staging = arena.allocate(BUFFER_BYTES, 1 << 12).fill((byte) 1);
      long begin = System.nanoTime();
      try (WeightSource source = tier.open(weights, bytes)) {
        for (long at = 0; at < bytes; at += BUFFER_BYTES) {
          source.read(at, staging.asSlice(0, Math.min(BUFFER_BYTES, bytes - at)));
        }
        return bytes * 1e9 / (System.nanoTime() - begin);
      }
    }
  }

  /** Memory as for a GPU, which nobody pins. */
  private static final class Unpinned implements HostMemory {
    @Override
    public Loaded load(Path file) throws IOException {
      return load(file, new Filling());
    }

    @Override
    public Loaded load(Path file, Filling filling) throws IOException {
      SharedMemory memory = SharedMemory.allocate("weights", Files.size(file));
      try {
        MemorySegment content = memory.segment().asSlice(0, Files.size(file));
        ParallelFileReader.read(file, content, READERS, filling);
        return new Filled(memory, content);
      } catch (IOException | RuntimeException | Error e) {
        filling.end();
        memory.close();
        throw e;
      }
    }
  }

  private record Filled(SharedMemory all, MemorySegment memory) implements HostMemory.Loaded {
    @Override
    public void close() {
      all.close();
    }
  }
}
