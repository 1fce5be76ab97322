package io.pipelane.lanes;

import io.pipelane.modelstore.host.HostMemory;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * Memory of a test's own as if a file had been loaded into it.
 *
 * @param shared how other processes open it
 */
public record HeldMemory(MemorySegment memory, Optional<HostMemory.Shared> shared)
    implements HostMemory.Loaded {
  /** Memory that no other process can open. */
  public HeldMemory(MemorySegment memory) {
    this(memory, Optional.empty());
  }

  @Override
  public void close() {
    // It goes with the test.
  }
}
