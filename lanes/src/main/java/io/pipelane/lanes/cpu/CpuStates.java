package io.pipelane.lanes.cpu;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.allocation.FreeList;
import java.lang.foreign.MemorySegment;
import java.util.OptionalLong;

/**
 * States in the host's memory, where runs read them in place; worker processes map all of it, for
 * reading, once they are given one.
 *
 * <p>Opening takes addresses only: memory is taken as it is written to, and goes back with its
 * state.
 */
public final class CpuStates implements DeviceStates, AutoCloseable {
  /*
   * What is free reads as zero: it was never touched, or has been cleared by whoever gave it back.
   * The monitor guards the blocks; what lies in one belongs to who has taken it.
   */

  /** Addresses alone; what may be taken of them is for others to say. */
  public static final long ADDRESS_BYTES = 256L << 30;

  private final SharedMemory memory = SharedMemory.allocate("pipelane-states", ADDRESS_BYTES);
  private final FreeList blocks = new FreeList();

  CpuStates() {
    blocks.resize(ADDRESS_BYTES);
  }

  /** What workers open the memory by. */
  int descriptor() {
    return memory.descriptor();
  }

  @Override
  public State take(long bytes) {
    return new Block(allocate(bytes), bytes);
  }

  private synchronized long allocate(long bytes) {
    long offset = blocks.allocate(bytes);
    if (offset < 0) {
      throw new StatusException(
          Status.INSUFFICIENT_MEMORY,
          "there are no addresses for a state of %s, the limit for all is %s; end sequences"
              .formatted(new ByteSize(bytes), new ByteSize(ADDRESS_BYTES)));
    }
    return offset;
  }

  private void giveBack(long offset, long bytes) {
    try {
      memory.clear(offset, bytes);
    } finally {
      synchronized (this) {
        blocks.free(offset);
      }
    }
  }

  @Override
  public OptionalLong offsetOf(MemorySegment segment) {
    return memory.contains(segment)
        ? OptionalLong.of(segment.address() - memory.segment().address())
        : OptionalLong.empty();
  }

  @Override
  public void close() {
    memory.close();
  }

  /** One state. */
  private final class Block implements State {
    private final long offset;
    private final MemorySegment segment;
    private boolean closed;

    Block(long offset, long bytes) {
      this.offset = offset;
      this.segment = memory.segment().asSlice(offset, bytes);
    }

    @Override
    public MemorySegment memory() {
      return segment;
    }

    @Override
    public void read(MemorySegment host) {
      host.copyFrom(segment);
    }

    @Override
    public void write(MemorySegment host) {
      segment.copyFrom(host);
    }

    @Override
    public void close() {
      if (!closed) {
        closed = true;
        giveBack(offset, segment.byteSize());
      }
    }
  }
}
