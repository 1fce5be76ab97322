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

  /** Gives the lease back; never throws. */
  @Override
  void close();
}
