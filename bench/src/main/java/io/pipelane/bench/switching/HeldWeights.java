package io.pipelane.bench.switching;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.util.Optional;
import java.util.function.LongFunction;

/** A model's weights in host memory of a chosen kind, which outlives every lease. */
record HeldWeights(MemorySegment bytes) implements WeightSource {
  private static final long CHUNK = 1L << 30;

  /** Reads a model's weights once. */
  static HeldWeights read(ImportedModel model, LongFunction<MemorySegment> memory)
      throws IOException {
    MemorySegment bytes = memory.apply(model.plan().weightBytes());
    try (FileChannel file = FileChannel.open(model.weights())) {
      for (long at = 0; at < bytes.byteSize(); ) {
        long length = Math.min(CHUNK, bytes.byteSize() - at);
        int read = file.read(bytes.asSlice(at, length).asByteBuffer(), at);
        if (read < 0) {
          throw new EOFException(model.weights() + " ends at byte " + at);
        }
        at += read;
      }
    }
    return new HeldWeights(bytes);
  }

  @Override
  public long byteSize() {
    return bytes.byteSize();
  }

  @Override
  public void read(long offset, MemorySegment destination) {
    MemorySegment.copy(bytes, offset, destination, 0, destination.byteSize());
  }

  @Override
  public Optional<MemorySegment> memory() {
    return Optional.of(bytes);
  }

  @Override
  public void close() {
    // The memory stays for the next transfer.
  }
}
