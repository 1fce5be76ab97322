package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;

/** Hands a response's buffers to a channel: small parts in one buffer, large ones as they are. */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
final class ResponseWriting {
  /** A part up to this size is copied behind the head rather than sent by itself. */
  private static final int LARGEST_JOINED_PART = 1 << 10;

  private ResponseWriting() {}

  /**
   * Writes a response whose head has been prepended; does not flush. Takes over every buffer.
   *
   * @param headOnly leaves the body out, as a HEAD request wants it
   */
  static void write(ChannelHandlerContext context, Response response, boolean headOnly) {
    ByteBuf first = response.body();
    if (headOnly) {
      first.writerIndex(ResponseHead.ROOM);
      response.tail().forEach(ByteBuf::release);
      context.write(first);
      return;
    }
    boolean joining = true;
    int written = 0;
    for (ByteBuf part : response.tail()) {
      joining = joining && part.readableBytes() <= LARGEST_JOINED_PART;
      if (joining) {
        first.writeBytes(part);
        part.release();
        written++;
      }
    }
    context.write(first);
    for (ByteBuf part : response.tail().subList(written, response.tail().size())) {
      context.write(part);
    }
  }
}
