package io.pipelane.lanes.cuda;

import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import io.pipelane.modelstore.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Pinned memory that weights pass through when the device cannot read them where they are: one
 * buffer is filled while the device empties others. Belongs to the copy thread.
 */
final class StagingBuffers implements AutoCloseable {
  private static final int BUFFERS = 4;
  private static final long BUFFER_BYTES = 8L << 20;

  private final PinnedHostMemory memory;
  private final List<CudaMark> emptied = new ArrayList<>();
  private int next;

  StagingBuffers(CudaContext context) {
    memory = PinnedHostMemory.allocate(context, BUFFERS * BUFFER_BYTES);
    try {
      for (int i = 0; i < BUFFERS; i++) {
        emptied.add(CudaMark.untimed(context));
      }
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  /**
   * Reads a stretch of a source and enqueues its copies.
   *
   * @param cancelled looked at between pieces; ends the copy early
   */
  void copy(
      WeightSource source,
      long sourceOffset,
      CudaStream stream,
      long deviceAddress,
      long bytes,
      BooleanSupplier cancelled) {
    for (long done = 0; done < bytes && !cancelled.getAsBoolean(); done += BUFFER_BYTES) {
      long piece = Math.min(BUFFER_BYTES, bytes - done);
      emptied.get(next).await();
      source.read(sourceOffset + done, memory.segment().asSlice(next * BUFFER_BYTES, piece));
      if (cancelled.getAsBoolean()) {
        return;
      }
      stream.copyToDevice(deviceAddress + done, memory.address() + next * BUFFER_BYTES, piece);
      stream.record(emptied.get(next));
      next = (next + 1) % BUFFERS;
    }
  }

  /** Gives the memory back; nothing may be in flight. */
  @Override
  public void close() {
    emptied.forEach(CudaMark::close);
    memory.close();
  }
}
