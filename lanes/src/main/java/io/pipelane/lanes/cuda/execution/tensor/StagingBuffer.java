package io.pipelane.lanes.cuda.execution.tensor;

import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Pinned memory on the way to or from the device, as much as the largest use so far has needed.
 * Belongs to its lane's thread.
 */
public final class StagingBuffer implements AutoCloseable {
  private static final long LEAST_BYTES = 1L << 20;

  private final CudaContext context;
  private @Nullable PinnedHostMemory memory;

  public StagingBuffer(CudaContext context) {
    this.context = context;
  }

  /** At least so many bytes, of undefined content; no copy uses what an earlier call returned. */
  public MemorySegment take(long bytes) {
    PinnedHostMemory current = memory;
    if (current == null || current.segment().byteSize() < bytes) {
      close();
      long rounded = Long.highestOneBit(Math.max(LEAST_BYTES, bytes) * 2 - 1);
      current = PinnedHostMemory.allocate(context, rounded);
      memory = current;
    }
    return current.segment();
  }

  @Override
  public void close() {
    PinnedHostMemory current = memory;
    if (current != null) {
      memory = null;
      current.close();
    }
  }
}
