package io.pipelane.server.net;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.memory.DirectMemory;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Netty's buffers over memory that the device copies from and to directly, for large bodies and
 * outputs. Each goes back when it is released for the last time. Safe for any thread.
 */
public final class TransferBuffers {
  /** Less than this is copied on its way for what it costs to keep account of it. */
  public static final int LEAST_BYTES = 64 << 10;

  private final TransferMemory memory;

  public TransferBuffers(TransferMemory memory) {
    this.memory = memory;
  }

  /**
   * An empty buffer of exactly so many bytes, which cannot grow.
   *
   * @return null when it is not worth it, or there is no room
   */
  public @Nullable ByteBuf find(long bytes, ByteBufAllocator copies) {
    if (bytes < LEAST_BYTES || bytes > Integer.MAX_VALUE) {
      return null;
    }
    MemorySegment stretch = memory.take(bytes);
    return stretch == null ? null : new TransferBuffer(copies, stretch).clear();
  }

  /**
   * The same, of ordinary memory where there is no other.
   *
   * @throws StatusException when there is none of that either, see {@link DirectMemory}
   */
  public ByteBuf take(int bytes, ByteBufAllocator ordinary) {
    ByteBuf found = find(bytes, ordinary);
    return found == null ? DirectMemory.take(bytes, ordinary) : found;
  }

  private final class TransferBuffer extends UnpooledDirectByteBuf {
    private final MemorySegment stretch;

    /**
     * A buffer over a stretch.
     *
     * @param copies allocates what is made from this buffer
     */
    TransferBuffer(ByteBufAllocator copies, MemorySegment stretch) {
      super(copies, stretch.asByteBuffer(), (int) stretch.byteSize());
      this.stretch = stretch;
    }

    @Override
    public boolean hasMemoryAddress() {
      return true;
    }

    @Override
    public long memoryAddress() {
      ensureAccessible();
      return stretch.address();
    }

    @Override
    public ByteBuf capacity(int newCapacity) {
      throw new UnsupportedOperationException("a transfer buffer keeps its capacity");
    }

    @Override
    protected void deallocate() {
      super.deallocate();
      memory.giveBack(stretch);
    }
  }
}
