package io.pipelane.modelstore;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Weights that lie in host memory, pinned or not, which belongs to somebody else. */
public record MemorySource(MemorySegment bytes) implements WeightSource {
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
