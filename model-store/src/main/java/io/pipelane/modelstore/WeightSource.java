package io.pipelane.modelstore;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * A lease on the weights of one model, as a copy engine reads them: from the host tier, or from
 * disk where the host tier has no room. Safe for any thread; reading after {@link #close} fails.
 */
public interface WeightSource extends AutoCloseable {
  long byteSize();

  /**
   * Copies bytes {@code [offset, offset + destination.byteSize())} into native memory.
   *
   * @throws java.io.UncheckedIOException when the file cannot be read
   */
  void read(long offset, MemorySegment destination);

  /**
   * The weights in host memory, prepared for the device's transfers; empty where they have to be
   * read from disk.
   */
  default Optional<MemorySegment> memory() {
    return Optional.empty();
  }

  /** Whether reading such bytes waits for no disk, as far as is known at once. */
  default boolean isInMemory(long offset, long bytes) {
    return true;
  }

  /**
   * Has such bytes be in host memory, where they are not, and blocks until they are. The system may
   * drop what is not pinned again.
   *
   * @throws java.io.UncheckedIOException when the file cannot be read
   */
  default void bringIntoMemory(long offset, long bytes) {}

  /** Gives the lease back; never throws. */
  @Override
  void close();
}
