package io.pipelane.lanes.cuda;

import io.pipelane.lanes.HostRegion;
import io.pipelane.lanes.SharedLane;
import io.pipelane.lanes.allocation.BlockRegion;
import io.pipelane.lanes.cpu.SharedRegion;
import java.util.function.Consumer;

/**
 * A lane whose runs happen in worker processes. Its device memory is taken there, by each worker
 * its own, and counted here; inputs and outputs lie in host memory that both have.
 */
final class CudaSharedRegion extends BlockRegion implements SharedLane {
  /** Addresses; memory is taken as it is touched, and of requests that lie nowhere better. */
  private static final long HOST_BYTES = 2L << 30;

  private final HostRegion host;
  private final Consumer<CudaSharedRegion> onClose;

  CudaSharedRegion(int lane, long maximumBytes, Consumer<CudaSharedRegion> onClose) {
    super(maximumBytes);
    this.onClose = onClose;
    host = new SharedRegion(lane, HOST_BYTES, true, closed -> {});
    host.limit(HOST_BYTES);
  }

  @Override
  public HostRegion host() {
    return host;
  }

  @Override
  public void reached(long end) {
    allocatedElsewhere(end);
  }

  /** Nothing lies there. */
  @Override
  public long address() {
    return ALIGNMENT;
  }

  @Override
  protected void grow(long oldBytes, long newBytes) {
    // The limit alone counts.
  }

  @Override
  protected void shrink(long oldBytes, long newBytes) {
    // The limit alone counts.
  }

  @Override
  protected void release() {
    host.close();
    onClose.accept(this);
  }
}
