package io.pipelane.server.grpc;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;

/**
 * The way in which a connection's bytes are put behind those of a frame that has not come whole:
 * many are left where they were read.
 */
final class FrameBytes {
  /*
   * gRPC keeps what was read until a message is whole, frame by frame. Netty copies each read behind
   * the rest of the last one, into a buffer of the next power of two: 16 + 64 KiB lie in 128, with no
   * room for the read after that, and a frame of 16 KiB that two records of TLS have brought in 32.
   * So large messages would hold twice their bytes.
   *
   * Few bytes are copied: one by one they would hold many times their size. Where the rest has no
   * room for them, both go to a buffer with an eighth more than they need, so that a byte is moved
   * some nine times at most, however small its companions come.
   */
  private static final int LEAST_LEFT = 8 << 10;

  private FrameBytes() {}

  /** Has a connection do so; to be called before its other handlers are added. */
  static void gatherIn(Channel connection) {
    connection.pipeline().addLast(new Setter());
  }

  /** One that waits for gRPC's handler, which comes once it is known what the connection speaks. */
  private static final class Setter extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext context, Object bytes) {
      ChannelPipeline handlers = context.pipeline();
      Http2ConnectionHandler frames = handlers.get(Http2ConnectionHandler.class);
      if (frames != null) {
        frames.setCumulator(FrameBytes::gather);
        handlers.remove(this);
      }
      context.fireChannelRead(bytes);
    }
  }

  /** Puts bytes behind the rest of others; takes over both. */
  static ByteBuf gather(ByteBufAllocator allocator, ByteBuf rest, ByteBuf more) {
    int bytes = more.readableBytes();
    if (bytes >= LEAST_LEFT && bytes >= more.capacity() / 2) {
      return ByteToMessageDecoder.COMPOSITE_CUMULATOR.cumulate(allocator, rest, more);
    }
    ByteBuf roomy = rest;
    if (rest.isReadable() && bytes > rest.maxFastWritableBytes()) {
      try {
        roomy = moved(allocator, rest, bytes);
      } catch (OutOfMemoryError e) {
        more.release();
        throw e;
      }
    }
    return ByteToMessageDecoder.MERGE_CUMULATOR.cumulate(allocator, roomy, more);
  }

  /** The same bytes where there is room for more; takes over what they lie in. */
  private static ByteBuf moved(ByteBufAllocator allocator, ByteBuf rest, int more) {
    int whole = rest.readableBytes() + more;
    ByteBuf roomy = allocator.directBuffer(whole + whole / 8);
    roomy.writeBytes(rest);
    rest.release();
    return roomy;
  }
}
