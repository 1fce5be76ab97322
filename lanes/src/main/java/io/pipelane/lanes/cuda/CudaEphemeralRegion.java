package io.pipelane.lanes.cuda;

import io.pipelane.lanes.allocation.BlockRegion;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import java.util.function.Consumer;

/** A lane's device memory, and the stream that its work runs on. */
public final class CudaEphemeralRegion extends BlockRegion {
  private final CudaContext context;
  private final GrowingMemory memory;
  private final CudaStream stream;
  private final Consumer<? super CudaEphemeralRegion> onClose;

  CudaEphemeralRegion(
      CudaContext context,
      VirtualMemory virtualMemory,
      long maximumBytes,
      Consumer<? super CudaEphemeralRegion> onClose) {
    super(maximumBytes);
    this.context = context;
    this.onClose = onClose;
    try (Releases undo = new Releases()) {
      memory = undo.add(new GrowingMemory(virtualMemory, maximumBytes));
      stream = undo.add(CudaStream.open(context));
      undo.keep();
    }
  }

  /** The lane's stream; it lives as long as the region. */
  public CudaStream stream() {
    return stream;
  }

  @Override
  public long address() {
    return memory.address();
  }

  /** What the device gives for the region at present: the limit in whole granules. */
  long byteSize() {
    return memory.byteSize();
  }

  @Override
  protected void grow(long oldBytes, long newBytes) {
    memory.resize(newBytes);
  }

  @Override
  protected void shrink(long oldBytes, long newBytes) {
    awaitWork();
    memory.resize(newBytes);
  }

  @Override
  protected void release() {
    awaitWork();
    try (Releases releases = new Releases()) {
      releases.add(memory);
      releases.add(stream);
    }
    onClose.accept(this);
  }

  /** Touching memory that is gone would end the context; so the lane's work is awaited. */
  private void awaitWork() {
    context.bind();
    stream.synchronize();
  }
}
