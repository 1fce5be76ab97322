package io.pipelane.server.http.message;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.socket.DuplexChannel;
import io.pipelane.server.http.message.ResponseHead.Persistence;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Answers as HTTP/1.1: small parts in one buffer with the head, large ones as they are. */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
public final class Http1Framing implements Framing {
  /** A part up to this size is copied behind the head rather than sent by itself. */
  private static final int LARGEST_JOINED_PART = 1 << 10;

  /** How long a closing connection waits for its client to stop sending. */
  private static final Duration LINGER = Duration.ofSeconds(2);

  private static final ByteBuf CONTINUE =
      Unpooled.unreleasableBuffer(
          Unpooled.copiedBuffer("HTTP/1.1 100 Continue\r\n\r\n", StandardCharsets.US_ASCII)
              .asReadOnly());

  @Override
  public ChannelFuture write(
      ChannelHandlerContext context, Response response, boolean headOnly, Persistence persistence) {
    ResponseHead.prepend(response, persistence);
    ByteBuf first = response.body();
    if (headOnly) {
      first.writerIndex(ResponseHead.ROOM);
      response.tail().forEach(ByteBuf::release);
      return context.write(first);
    }
    boolean joining = true;
    int joined = 0;
    for (ByteBuf part : response.tail()) {
      joining = joining && part.readableBytes() <= LARGEST_JOINED_PART;
      if (joining) {
        first.writeBytes(part);
        part.release();
        joined++;
      }
    }
    return writeAll(context, first, response.tail().subList(joined, response.tail().size()));
  }

  private static ChannelFuture writeAll(
      ChannelHandlerContext context, ByteBuf first, List<ByteBuf> others) {
    ChannelFuture written = context.write(first);
    for (ByteBuf part : others) {
      written.addListener(ChannelFutureListener.CLOSE_ON_FAILURE); // A part without its head lies.
      written = context.write(part);
    }
    return written;
  }

  @Override
  public void offerContinue(ChannelHandlerContext context) {
    context.writeAndFlush(CONTINUE.duplicate());
  }

  /**
   * While the client still sends, closing would reset the connection and could take the answer with
   * it: then only the sending side is closed and what comes is dropped for a while.
   */
  @Override
  public void close(ChannelHandlerContext context, boolean clientMaySend) {
    if (clientMaySend && context.channel() instanceof DuplexChannel duplex) {
      duplex.shutdownOutput();
      context.executor().schedule(() -> context.close(), LINGER.toMillis(), TimeUnit.MILLISECONDS);
    } else {
      context.close();
    }
  }
}
