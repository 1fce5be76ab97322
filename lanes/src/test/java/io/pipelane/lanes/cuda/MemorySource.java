package io.pipelane.lanes.cuda;

import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Weights that are in host memory, pinned or not. */
record MemorySource(MemorySegment bytes) implements WeightSource {
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
  public void close() {}
}
