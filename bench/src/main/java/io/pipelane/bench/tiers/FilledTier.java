package io.pipelane.bench.tiers;

import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.FilledMemory;
import io.pipelane.lanes.cpu.RecycledMemory;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.modelstore.host.HostTier;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * The parts that weights on disk go through on their way to a GPU, but for its driver. They are a
 * host tier that is filled by direct reads, and a transfer that follows them through staging
 * buffers.
 */
final class FilledTier implements AutoCloseable {
  private static final long BUFFER_BYTES = 8L << 20;
  private static final long PAGE_BYTES = 1 << 12;

  /** Sizes of the files that fill a tier, of what is measured: neither is enough, both are more. */
  private static final List<Double> OTHERS = List.of(0.62, 0.55);

  private final Path weights;
  private final long bytes;
  private final Path folder;
  private final Path[] others = new Path[OTHERS.size()];

  /** Writes other weights, for tiers to be full of. */
  FilledTier(Path weights) throws IOException {
    this.weights = weights;
    this.bytes = Files.size(weights);
    this.folder = Files.createTempDirectory(weights.toAbsolutePath().getParent(), "others");
    for (int i = 0; i < others.length; i++) {
      others[i] = folder.resolve("weights" + i);
      write(others[i], Math.round(bytes * OTHERS.get(i)));
    }
  }

  private void write(Path other, long size) throws IOException {
    try (FileChannel from = FileChannel.open(weights);
        FileChannel to =
            FileChannel.open(other, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      for (long at = 0; at < size; ) {
        at += from.transferTo(at, size - at, to);
      }
      to.force(true);
    }
  }

  /** Bytes a second into memory that the tier has to have from the system. */
  double firstBytesPerSecond() {
    try (HostTier tier = tier(bytes)) {
      return bytesPerSecond(tier);
    }
  }

  /** Bytes a second into memory of other weights, which a full tier gives up for these. */
  double steadyBytesPerSecond() throws IOException {
    long capacity = 0;
    for (Path other : others) {
      capacity += Files.size(other) + PAGE_BYTES;
    }
    try (HostTier tier = tier(capacity)) {
      for (Path other : others) {
        tier.prepare(other, Files.size(other));
      }
      tier.prepare(weights, 0); // What is asked for no more often than others does not get in.
      if (tier.statistics().heldBytes() < bytes) {
        throw new IllegalStateException("the tier is not full: " + tier.statistics());
      }
      double rate = bytesPerSecond(tier);
      tier.prepare(weights, 0); // Behind the load, if that is not over.
      if (tier.statistics().heldBytes() != bytes) {
        throw new IllegalStateException("the tier kept the others: " + tier.statistics());
      }
      return rate;
    }
  }

  private static HostTier tier(long capacity) {
    return HostTier.filling(new ByteSize(capacity), new FilledMemory(RecycledMemory.unpinned()));
  }

  /** From the lease until the last byte has passed a staging buffer. */
  private double bytesPerSecond(HostTier tier) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment staging = arena.allocate(BUFFER_BYTES, PAGE_BYTES).fill((byte) 1);
      long begin = System.nanoTime();
      try (WeightSource source = tier.open(weights, bytes)) {
        for (long at = 0; at < bytes; at += BUFFER_BYTES) {
          source.read(at, staging.asSlice(0, Math.min(BUFFER_BYTES, bytes - at)));
        }
        return bytes * 1e9 / (System.nanoTime() - begin);
      }
    }
  }

  @Override
  public void close() throws IOException {
    for (Path other : others) {
      Files.deleteIfExists(other);
    }
    Files.delete(folder);
  }
}
