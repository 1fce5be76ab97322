package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.SessionDevice;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.execution.InputLayout.Slot;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Brings a request's inputs to the device. Belongs to its lane's thread. */
final class InputCopier implements AutoCloseable {
  /** A piece is on its way while the next one is staged. */
  private static final long PIECE_BYTES = 1L << 20;

  /** Staging less takes no longer than a copy of its own. */
  private static final long LEAST_IN_PLACE = 64L << 10;

  /** A processor's cache line. */
  private static final long ALIGNMENT_IN_PLACE = 64;

  private final SessionDevice device;
  private final CudaStream lane;
  private final StagingBuffer staging;
  private final CudaMark copied;

  InputCopier(SessionDevice device, CudaStream lane, StagingBuffer staging) {
    this.device = device;
    this.lane = lane;
    this.staging = staging;
    this.copied = CudaMark.untimed(lane.context());
  }

  /**
   * Enqueues the copies of all inputs to a block of device memory; small ones go together. Large
   * ones that are pinned are read in place, until the lane's stream has come that far.
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
    long enqueued = 0;
    long staged = 0;
    for (Slot slot : layout.slots()) {
      if (isReadInPlace(slot, stream)) {
        enqueueStaged(layout, enqueued, staged, device, stream);
        MemorySegment data = slot.tensor().data();
        stream.copyToDevice(device + slot.offset(), data.address(), data.byteSize());
        enqueued = slot.end();
      } else {
        long begin = enqueued == staged ? slot.offset() : enqueued;
        enqueued = stage(layout, slot, begin, device, stream);
      }
      staged = slot.end();
    }
    enqueueStaged(layout, enqueued, staged, device, stream);
  }

  /** Large, aligned, and in memory that the device reads directly. */
  private static boolean isReadInPlace(Slot slot, CudaStream stream) {
    MemorySegment data = slot.tensor().data();
    return data.byteSize() >= LEAST_IN_PLACE
        && data.address() % ALIGNMENT_IN_PLACE == 0
        && stream.context().isPinned(data);
  }

  /** Copies an input to the staging buffer; answers how far the block is enqueued. */
  private long stage(
      InputLayout layout, Slot slot, long enqueuedBefore, long device, CudaStream stream) {
    long enqueued = enqueuedBefore;
    MemorySegment staged = staging.take(layout.byteSize());
    MemorySegment data = slot.tensor().data();
    for (long at = 0; at < data.byteSize(); at += PIECE_BYTES) {
      long bytes = Math.min(PIECE_BYTES, data.byteSize() - at);
      long end = slot.offset() + at + bytes;
      MemorySegment.copy(data, at, staged, slot.offset() + at, bytes);
      if (end - enqueued >= PIECE_BYTES) {
        enqueueStaged(layout, enqueued, end, device, stream);
        enqueued = end;
      }
    }
    return enqueued;
  }

  private void enqueueStaged(
      InputLayout layout, long begin, long end, long device, CudaStream stream) {
    if (begin < end) {
      MemorySegment staged = staging.take(layout.byteSize());
      stream.copyToDevice(device + begin, staged.address() + begin, end - begin);
    }
  }

  @Override
  public void close() {
    copied.close();
  }
}
