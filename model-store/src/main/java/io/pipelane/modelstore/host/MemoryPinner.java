package io.pipelane.modelstore.host;

import java.lang.foreign.MemorySegment;

/** Prepares mapped weights for transfer to a device, e.g. by locking their pages for its DMA. */
@FunctionalInterface
public interface MemoryPinner {
  /** For devices that read ordinary memory. */
  MemoryPinner NONE = memory -> () -> {};

  /**
   * Pins memory until the result is closed.
   *
   * @throws RuntimeException when it cannot be pinned
   */
  AutoCloseable pin(MemorySegment memory);
}
