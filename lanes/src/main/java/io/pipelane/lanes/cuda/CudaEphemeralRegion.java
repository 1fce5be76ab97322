package io.pipelane.lanes.cuda;

import io.pipelane.lanes.Releases;
import io.pipelane.lanes.allocation.BlockRegion;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.MultiprocessorShare;
import io.pipelane.lanes.cuda.driver.VirtualMemory;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A lane's device memory, and the stream that its work runs on. */
public final class CudaEphemeralRegion extends BlockRegion {
  /** All multiprocessors, in percent. */
  static final int WHOLE = 100;

  private final CudaContext context;
  private final GrowingMemory memory;
  private final CudaStream stream;
  private final @Nullable MultiprocessorShare share;
  private final Consumer<? super CudaEphemeralRegion> onClose;

  /**
   * A region.
   *
   * @param percent of the device's multiprocessors, which its stream keeps to
   * @param urgent whether the work of a stream that has all of them goes before that of others
   */
  public CudaEphemeralRegion(
      CudaContext context,
      VirtualMemory virtualMemory,
      long maximumBytes,
      int percent,
      boolean urgent,
      Consumer<? super CudaEphemeralRegion> onClose) {
    super(maximumBytes);
    this.context = context;
    this.onClose = onClose;
    try (Releases undo = new Releases()) {
      memory = undo.add(new GrowingMemory(virtualMemory, maximumBytes));
      share = percent < WHOLE ? undo.add(MultiprocessorShare.open(context, percent)) : null;
      stream = undo.add(stream(context, share, urgent));
      undo.keep();
    }
  }

  private static CudaStream stream(
      CudaContext context, @Nullable MultiprocessorShare share, boolean urgent) {
    if (share != null) {
      return CudaStream.open(context, share);
    }
    return urgent ? CudaStream.openUrgent(context) : CudaStream.open(context);
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
  public long byteSize() {
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
      if (share != null) {
        releases.add(share);
      }
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
