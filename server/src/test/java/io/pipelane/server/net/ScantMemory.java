package io.pipelane.server.net;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;

/** An allocator for which there is room outside Java's heap for small buffers only. */
public final class ScantMemory extends AbstractByteBufAllocator {
  private final int mostBytes;

  /**
   * Buffers on the heap may have any size.
   *
   * @param mostBytes of one buffer outside it
   */
  public ScantMemory(int mostBytes) {
    super(true);
    this.mostBytes = mostBytes;
  }

  @Override
  protected ByteBuf newHeapBuffer(int capacity, int most) {
    return UnpooledByteBufAllocator.DEFAULT.heapBuffer(capacity, most);
  }

  @Override
  protected ByteBuf newDirectBuffer(int capacity, int most) {
    check(capacity);
    return new UnpooledDirectByteBuf(this, capacity, most) {
      @Override
      public ByteBuf capacity(int newCapacity) {
        check(newCapacity);
        return super.capacity(newCapacity);
      }
    };
  }

  private void check(int bytes) {
    if (bytes > mostBytes) {
      throw new OutOfMemoryError("more than %d bytes, on purpose".formatted(mostBytes));
    }
  }

  @Override
  public boolean isDirectBufferPooled() {
    return false;
  }
}
