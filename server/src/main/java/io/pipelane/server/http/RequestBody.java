package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/**
 * A request's body as it arrives. One that comes in one piece is kept as it was received; otherwise
 * the pieces are put together in one direct buffer, which takes the announced length as far as what
 * has really come vouches for it. Belongs to the connection's event loop.
 */
final class RequestBody {
  private static final int LARGEST_FIRST_CAPACITY = 1 << 20;

  /**
   * How many bytes of an announced length are taken for each that has come. Each step up copies
   * what is there already, so that steps twice as large as the last cost more than the body itself.
   */
  private static final long TRUST = 8;

  private final ByteBufAllocator allocator;
  private final long announced;
  private @Nullable ByteBuf content;
  private boolean owned;

  /**
   * @param announced the length that the request's head gives, -1 where it gives none
   */
  RequestBody(ByteBufAllocator allocator, long announced) {
    this.allocator = allocator;
    this.announced = announced;
  }

  int length() {
    return content == null ? 0 : content.readableBytes();
  }

  /** Adds a piece, whose indices nobody else moves; the caller keeps its reference. */
  void add(ByteBuf piece) {
    if (!piece.isReadable()) {
      return;
    }
    if (content == null) {
      content = piece.retain();
      return;
    }
    int needed = content.readableBytes() + piece.readableBytes();
    if (!owned || content.capacity() < needed) {
      content = moveTo(allocator.directBuffer(nextCapacity(needed)), content);
      owned = true;
    }
    content.writeBytes(piece, piece.readerIndex(), piece.readableBytes());
  }

  private int nextCapacity(int needed) {
    long trusted = Math.max(LARGEST_FIRST_CAPACITY, TRUST * needed);
    long wanted = announced >= 0 ? Math.min(trusted, announced) : 2L * needed;
    return Math.clamp(wanted, needed, Integer.MAX_VALUE);
  }

  private static ByteBuf moveTo(ByteBuf target, ByteBuf source) {
    target.writeBytes(source, source.readerIndex(), source.readableBytes());
    source.release();
    return target;
  }

  /** Hands the whole body to the caller, who releases it. */
  ByteBuf take() {
    ByteBuf taken = content == null ? Unpooled.EMPTY_BUFFER : content;
    content = null;
    return taken;
  }

  /** Gives up what has come so far; harmless after {@link #take}. */
  void release() {
    take().release();
  }
}
