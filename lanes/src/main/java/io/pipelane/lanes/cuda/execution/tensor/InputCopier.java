package io.pipelane.lanes.cuda.execution.tensor;

import io.pipelane.lanes.cuda.SessionDevice;
import io.pipelane.lanes.cuda.driver.CudaMark;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.HostReader;
import io.pipelane.lanes.cuda.execution.tensor.InputLayout.Slot;
import io.pipelane.lanes.execution.InputTensor;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** The copier of a request's inputs to the device. Belongs to its lane's thread. */
public final class InputCopier implements AutoCloseable {
  /** A piece is on its way while the next one is staged. */
  private static final long PIECE_BYTES = 1L << 20;

  /** What is staged at a time, however large a request is: pinned memory is everybody's. */
  private static final long MOST_STAGED_BYTES = 16L << 20;

  /** Staging less takes no longer than a copy of its own. */
  private static final long LEAST_IN_PLACE = 64L << 10;

  /** A processor's cache line. */
  private static final long ALIGNMENT_IN_PLACE = 64;

  /** What enqueues the transfer of pinned host memory to the device. */
  private interface Way {
    void bring(long device, long host, long bytes);
  }

  private final SessionDevice device;
  private final CudaStream lane;
  private final StagingBuffer staging;
  private final CudaMark copied;

  public InputCopier(SessionDevice device, CudaStream lane, StagingBuffer staging) {
    this.device = device;
    this.lane = lane;
    this.staging = staging;
    this.copied = CudaMark.untimed(lane.context());
  }

  /**
   * Enqueues the copies of all inputs to a block of device memory; small ones go together. Large
   * ones that are pinned are read in place, until the lane's stream has come that far, and so are
   * states, which are on the device already.
   *
   * @param beforePiece called before each piece of them
   */
  public void enqueue(InputLayout layout, long block, Runnable beforePiece) {
    Optional<HostReader> reader = device.hostReader();
    if (reader.isPresent()) {
      HostReader kernel = reader.get();
      Way way = (to, host, bytes) -> kernel.read(lane, to, host, bytes);
      enqueue(layout, block, new Stretch(staged(layout), block, lane, way, beforePiece));
      return;
    }
    Optional<CudaStream> busy = device.busyCopyStream();
    CudaStream stream = busy.orElse(lane);
    try {
      Way way = stream::copyToDevice;
      enqueue(layout, block, new Stretch(staged(layout), block, stream, way, beforePiece));
    } finally {
      if (busy.isPresent()) { // Whoever waits for the lane waits for what is on its way, too.
        busy.get().record(copied);
        lane.waitFor(copied);
      }
    }
  }

  private MemorySegment staged(InputLayout layout) {
    return staging.take(Math.min(layout.hostBytes(), MOST_STAGED_BYTES));
  }

  private void enqueue(InputLayout layout, long block, Stretch staged) {
    for (Slot slot : layout.slots()) {
      staged.beforePiece.run();
      InputTensor input = slot.tensor();
      if (input.onDevice()) {
        staged.flush();
        if (input.data().byteSize() > 0) {
          lane.copyWithin(block + slot.offset(), input.data().address(), input.data().byteSize());
        }
      } else if (isReadInPlace(slot)) {
        staged.flush();
        staged.way.bring(block + slot.offset(), input.data().address(), input.data().byteSize());
      } else {
        staged.add(slot);
      }
    }
    staged.flush();
  }

  /** Large, aligned, and in memory that the device reads directly. */
  private boolean isReadInPlace(Slot slot) {
    MemorySegment data = slot.tensor().data();
    return data.byteSize() >= LEAST_IN_PLACE
        && data.address() % ALIGNMENT_IN_PLACE == 0
        && lane.context().isPinned(data);
  }

  /** Inputs that follow each other, on their way through the staging buffer. */
  private static final class Stretch {
    private final MemorySegment buffer;
    private final long block;
    private final CudaStream stream;
    private final Way way;
    private final Runnable beforePiece;

    /** What is staged and not yet enqueued, by its place in the block. */
    private long begin;

    private long end;

    /**
     * How much further down it lies in the buffer, which has no gaps for what is not staged, and is
     * used several times by what is larger.
     */
    private long shift;

    Stretch(MemorySegment buffer, long block, CudaStream stream, Way way, Runnable beforePiece) {
      this.buffer = buffer;
      this.block = block;
      this.stream = stream;
      this.way = way;
      this.beforePiece = beforePiece;
    }

    void add(Slot slot) {
      if (slot.tensor().data().byteSize() == 0) {
        return;
      }
      if (begin == end) {
        shift = slot.offset() - InputLayout.aligned(end - shift);
        begin = slot.offset();
      }
      MemorySegment data = slot.tensor().data();
      for (long at = 0; at < data.byteSize(); at += PIECE_BYTES) {
        long bytes = Math.min(PIECE_BYTES, data.byteSize() - at);
        if (slot.offset() + at + bytes - shift > buffer.byteSize()) {
          beginBuffer(slot.offset() + at);
        }
        MemorySegment.copy(data, at, buffer, slot.offset() + at - shift, bytes);
        end = slot.offset() + at + bytes;
        if (end - begin >= PIECE_BYTES) {
          flush();
          beforePiece.run();
        }
      }
    }

    /** The buffer is full: it is used from its beginning once all that was staged has gone. */
    private void beginBuffer(long offset) {
      flush();
      stream.synchronize();
      begin = offset;
      end = offset;
      shift = offset;
    }

    void flush() {
      if (begin < end) {
        way.bring(block + begin, buffer.address() + begin - shift, end - begin);
      }
      begin = end;
    }
  }

  @Override
  public void close() {
    copied.close();
  }
}
