package io.pipelane.modelstore.host;

import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** A lease on weights in host memory. */
final class SharedSource implements WeightSource {
  private final SharedWeights weights;
  private final AtomicBoolean closed = new AtomicBoolean();

  SharedSource(SharedWeights weights) {
    this.weights = weights;
  }

  @Override
  public long byteSize() {
    return weights.byteSize();
  }

  @Override
  public void read(long offset, MemorySegment destination) {
    MemorySegment.copy(leased(), offset, destination, 0, destination.byteSize());
  }

  @Override
  public boolean isInMemory(long offset, long bytes) {
    MemorySegment stretch = leased().asSlice(offset, bytes);
    return !stretch.isMapped() || stretch.isLoaded();
  }

  @Override
  public void bringIntoMemory(long offset, long bytes) {
    MemorySegment stretch = leased().asSlice(offset, bytes);
    if (stretch.isMapped()) {
      stretch.load();
    }
  }

  private MemorySegment leased() {
    if (closed.get()) {
      throw new IllegalStateException("the lease on these weights has been closed");
    }
    return weights.memory();
  }

  @Override
  public Optional<MemorySegment> memory() {
    return Optional.of(weights.memory());
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      weights.release();
    }
  }
}
