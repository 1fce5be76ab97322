package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.timeout.IdleStateEvent;
import java.util.List;

/**
 * Tells from a connection's first bytes which protocol its client speaks, and leaves the pipeline:
 * one of HTTP/2 that needs no negotiation begins with a text that is none of HTTP/1.1 (RFC 9113,
 * section 3.4).
 */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
final class ProtocolChoice extends ByteToMessageDecoder {
  private static final ByteBuf PREFACE = Http2CodecUtil.connectionPrefaceBuf();

  private final ConnectionSetup setup;

  ProtocolChoice(ConnectionSetup setup) {
    this.setup = setup;
  }

  @Override
  protected void decode(ChannelHandlerContext context, ByteBuf bytes, List<Object> messages) {
    int compared = Math.min(bytes.readableBytes(), PREFACE.readableBytes());
    boolean agrees =
        ByteBufUtil.equals(PREFACE, PREFACE.readerIndex(), bytes, bytes.readerIndex(), compared);
    if (!agrees) {
      setup.http1(context.channel());
      context.pipeline().remove(this);
    } else if (compared == PREFACE.readableBytes()) {
      setup.http2(context.channel());
      context.pipeline().remove(this);
    }
  }

  /** The client has not said which it speaks for a while. */
  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event instanceof IdleStateEvent) {
      context.close();
    } else {
      context.fireUserEventTriggered(event);
    }
  }

  /** A connection that breaks before it has said anything is nobody's concern. */
  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    context.close();
  }
}
