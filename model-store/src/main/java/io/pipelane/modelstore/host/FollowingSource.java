package io.pipelane.modelstore.host;

import io.pipelane.modelstore.WeightSource;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A lease on weights that are on their way into host memory: what has come is read there, and what
 * nobody is reading from the file itself.
 */
final class FollowingSource implements WeightSource {
  private final Filling filling;
  private final WeightSource file;
  private final Supplier<Optional<WeightSource>> held;
  private @Nullable WeightSource loaded;
  private boolean closed;

  /**
   * Follows.
   *
   * @param file closed with this
   * @param held a lease on the weights in memory, where they are once they have been loaded
   */
  FollowingSource(Filling filling, WeightSource file, Supplier<Optional<WeightSource>> held) {
    this.filling = filling;
    this.file = file;
    this.held = held;
  }

  @Override
  public long byteSize() {
    return file.byteSize();
  }

  @Override
  public void read(long offset, MemorySegment destination) {
    if (!filling.read(offset, destination)) {
      inMemory().orElse(file).read(offset, destination);
    }
  }

  @Override
  public boolean isInMemory(long offset, long bytes) {
    return filling.has(offset + bytes)
        || (filling.isOver() && inMemory().orElse(file).isInMemory(offset, bytes));
  }

  /** Waits for whoever loads the file, however long that takes to begin: the disk is read once. */
  @Override
  public void bringIntoMemory(long offset, long bytes) {
    if (!filling.await(offset + bytes)) {
      inMemory().orElse(file).bringIntoMemory(offset, bytes);
    }
  }

  @Override
  public Optional<MemorySegment> memory() {
    return inMemory().flatMap(WeightSource::memory);
  }

  private synchronized Optional<WeightSource> inMemory() {
    if (loaded == null && !closed && filling.isOver()) {
      loaded = held.get().orElse(null);
    }
    return Optional.ofNullable(loaded);
  }

  @Override
  public synchronized void close() {
    closed = true;
    file.close();
    if (loaded != null) {
      loaded.close();
    }
  }
}
