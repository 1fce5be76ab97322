package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.execution.InputLayout.Slot;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Brings a request's inputs to the device. Belongs to its lane's thread. */
final class InputCopier implements AutoCloseable {
  /** A piece is on its way while the next one is staged. */
  private static final long PIECE_BYTES = 1L << 20;

  private final CudaDevice device;
  private final CudaStream lane;
  private final StagingBuffer staging;
  private final CudaMark copied;

  InputCopier(CudaDevice device, CudaStream lane, StagingBuffer staging) {
    this.device = device;
    this.lane = lane;
    this.staging = staging;
    this.copied = CudaMark.untimed(lane.context());
  }

  /**
   * Enqueues the copies of all inputs to a block of device memory; small ones go together. Pinned
   * inputs are read in place, until the lane's stream has come that far.
   */
  void enqueue(InputLayout layout, long block) {
    Optional<CudaStream> busy = device.busyCopyStream();
    try {
      enqueue(layout, block, busy.orElse(lane));
    } finally {
      if (busy.isPresent()) { // Whoever waits for the lane waits for what is on its way, too.
        busy.get().record(copied);
        lane.waitFor(copied);
      }
    }
  }

  private void enqueue(InputLayout layout, long device, CudaStream stream) {
    if (layout.slots().size() == 1
        && layout.byteSize() >= PIECE_BYTES
        && stream.context().isPinned(layout.slots().getFirst().tensor().data().address())) {
      MemorySegment data = layout.slots().getFirst().tensor().data();
      stream.copyToDevice(device, data.address(), data.byteSize());
      return;
    }
    MemorySegment staged = staging.take(layout.byteSize());
    long enqueued = 0;
    for (Slot slot : layout.slots()) {
      MemorySegment data = slot.tensor().data();
      for (long at = 0; at < data.byteSize(); at += PIECE_BYTES) {
        long bytes = Math.min(PIECE_BYTES, data.byteSize() - at);
        long end = slot.offset() + at + bytes;
        MemorySegment.copy(data, at, staged, slot.offset() + at, bytes);
        if (end - enqueued >= PIECE_BYTES || end == layout.byteSize()) {
          stream.copyToDevice(device + enqueued, staged.address() + enqueued, end - enqueued);
          enqueued = end;
        }
      }
    }
    if (enqueued < layout.byteSize() && !layout.slots().isEmpty()) {
      stream.copyToDevice(
          device + enqueued, staged.address() + enqueued, layout.byteSize() - enqueued);
    }
  }

  @Override
  public void close() {
    copied.close();
  }
}
