package io.pipelane.server.http;

import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import org.jspecify.annotations.Nullable;

/**
 * Refuses HTTP/2 requests whose path cannot stand in a request line, before they are made into
 * messages of HTTP/1.1: Netty's codec refuses them too, but keeps the buffer that it has taken for
 * the message by then. For any number of connections.
 */
@Sharable
final class RequestLineCheck extends ChannelInboundHandlerAdapter {
  static final RequestLineCheck INSTANCE = new RequestLineCheck();

  private RequestLineCheck() {}

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (message instanceof Http2HeadersFrame frame) {
      @Nullable CharSequence path = frame.headers().path();
      if (path != null && !HttpUtil.isEncodingSafeStartLineToken(path)) {
        throw new DecoderException("a path has a space or a line's end in it");
      }
    }
    context.fireChannelRead(message);
  }
}
