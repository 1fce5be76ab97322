package io.pipelane.modelstore.host;

import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A lease on weights in host memory. */
final class SharedSource implements WeightSource {
  private final SharedWeights weights;
  private final @Nullable ReadAhead readAhead;
  private final AtomicBoolean closed = new AtomicBoolean();

  /**
   * A lease, which is a user of the weights already.
   *
   * @param mayBeOnDisk whether they are a mapped file, whose content may be on disk only
   */
  SharedSource(SharedWeights weights, boolean mayBeOnDisk) {
    this.weights = weights;
    this.readAhead = mayBeOnDisk ? new ReadAhead(weights.memory()) : null;
  }

  @Override
  public long byteSize() {
    return weights.memory().byteSize();
  }

  @Override
  public void read(long offset, MemorySegment destination) {
    if (closed.get()) {
      throw new IllegalStateException("the lease on these weights has been closed");
    }
    if (readAhead != null) {
      synchronized (readAhead) {
        readAhead.before(offset, destination.byteSize());
      }
    }
    MemorySegment.copy(weights.memory(), offset, destination, 0, destination.byteSize());
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
