package io.pipelane.lanes.cuda.copy;

import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.modelstore.WeightSource;
import java.util.function.BooleanSupplier;

/**
 * Pinned memory that weights pass through when the device cannot read them where they are: one
 * buffer is filled while the device empties others. Belongs to the copy thread.
 */
public final class StagingBuffers implements AutoCloseable {
  private static final int BUFFERS = 4;
  private static final long BUFFER_BYTES = 8L << 20;

  private final CudaStream stream;
  private final Progress progress;
  private final PinnedHostMemory memory;
  private final int[] emptied = new int[BUFFERS]; // The stream's marks behind each buffer's copy.
  private int next;

  public StagingBuffers(CudaStream stream, Progress progress) {
    this.stream = stream;
    this.progress = progress;
    memory = PinnedHostMemory.allocate(stream.context(), BUFFERS * BUFFER_BYTES);
  }

  /**
   * Reads a stretch of a source and enqueues its copies.
   *
   * @param cancelled looked at between pieces; ends the copy early
   */
  public void copy(
      WeightSource source,
      long sourceOffset,
      long deviceAddress,
      long bytes,
      BooleanSupplier cancelled) {
    for (long done = 0; done < bytes && !cancelled.getAsBoolean(); done += BUFFER_BYTES) {
      long piece = Math.min(BUFFER_BYTES, bytes - done);
      progress.require(emptied[next]);
      source.read(sourceOffset + done, memory.segment().asSlice(next * BUFFER_BYTES, piece));
      if (cancelled.getAsBoolean()) {
        return;
      }
      stream.copyToDevice(deviceAddress + done, memory.address() + next * BUFFER_BYTES, piece);
      emptied[next] = progress.mark();
      next = (next + 1) % BUFFERS;
    }
  }

  /** Gives the memory back; nothing may be in flight. */
  @Override
  public void close() {
    memory.close();
  }
}
