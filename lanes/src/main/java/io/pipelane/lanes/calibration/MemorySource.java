package io.pipelane.lanes.calibration;

import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Memory that is copied from as if it were weights; it belongs to somebody else. */
record MemorySource(MemorySegment content) implements WeightSource {
  @Override
  public long byteSize() {
    return content.byteSize();
  }

  @Override
  public void read(long offset, MemorySegment destination) {
    MemorySegment.copy(content, offset, destination, 0, destination.byteSize());
  }

  @Override
  public Optional<MemorySegment> memory() {
    return Optional.of(content);
  }

  @Override
  public void close() {}
}
