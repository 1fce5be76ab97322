package io.pipelane.server.http;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http2.DefaultHttp2GoAwayFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.timeout.IdleStateEvent;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** One client's HTTP/2 connection, whose streams are channels. Belongs to its event loop. */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
final class Http2Connection extends ChannelInboundHandlerAdapter {
  private static final System.Logger LOG = System.getLogger(Http2Connection.class.getName());

  private final Set<Channel> streams = new HashSet<>();

  /** Counts a stream in until it is closed. */
  void add(Channel stream) {
    streams.add(stream);
    stream.closeFuture().addListener(_ -> streams.remove(stream));
  }

  /** The client has neither sent nor taken a byte for a while; or the server stops. */
  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    boolean isIdle = event instanceof IdleStateEvent;
    boolean isDraining = event instanceof HttpConnection.Draining;
    if (isDraining) {
      announceEnd(context);
    }
    if (!isIdle && !isDraining) {
      context.fireUserEventTriggered(event);
    } else if (isIdle && streams.isEmpty()) {
      context.close();
    } else {
      List.copyOf(streams).forEach(stream -> stream.pipeline().fireUserEventTriggered(event));
    }
  }

  /**
   * Asks the client for no more streams; those that come all the same are answered (RFC 9113 6.8).
   */
  private static void announceEnd(ChannelHandlerContext context) {
    context.writeAndFlush(
        new DefaultHttp2GoAwayFrame(Http2Error.NO_ERROR).setExtraStreamIds(Integer.MAX_VALUE));
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (cause instanceof Http2Exception) {
      return; // The codec tells the client which, and closes.
    }
    if (!(cause instanceof IOException)) {
      LOG.log(System.Logger.Level.WARNING, "closing a connection after a fault", cause);
    }
    context.close();
  }
}
