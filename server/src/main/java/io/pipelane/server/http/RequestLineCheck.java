package io.pipelane.server.http;

import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValidationUtil;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.util.AsciiString;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The check that refuses HTTP/2 requests of which no request line can be made, before they become
 * messages of HTTP/1.1. Netty's codec refuses them too, but keeps the buffer that it has taken for
 * the message by then. For any number of connections.
 */
@Sharable
final class RequestLineCheck extends ChannelInboundHandlerAdapter {
  static final RequestLineCheck INSTANCE = new RequestLineCheck();

  private RequestLineCheck() {}

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (message instanceof Http2HeadersFrame frame) {
      if (!isSound(frame.headers())) {
        throw new DecoderException("a request without a sound method and path");
      }
      if (!namesOneHost(frame.headers())) {
        throw new DecoderException("a request whose host is not its authority");
      }
    }
    context.fireChannelRead(message);
  }

  /** Drops hosts that say what the authority says, which would be further ones. */
  private static boolean namesOneHost(Http2Headers headers) {
    CharSequence authority = headers.authority();
    if (authority == null) {
      return true;
    }
    List<CharSequence> hosts = headers.getAllAndRemove(HttpHeaderNames.HOST);
    return hosts.stream().allMatch(host -> AsciiString.contentEqualsIgnoreCase(host, authority));
  }

  /** Whether it makes a request line, or has neither method nor status, as trailers have. */
  private static boolean isSound(Http2Headers headers) {
    @Nullable CharSequence method = headers.method();
    if (method == null) {
      return headers.status() == null;
    }
    if (method.isEmpty() || HttpHeaderValidationUtil.validateToken(method) >= 0) {
      return false;
    }
    boolean tunnels = HttpMethod.CONNECT.asciiName().contentEqualsIgnoreCase(method);
    @Nullable CharSequence target = tunnels ? headers.authority() : headers.path();
    return target != null && HttpUtil.isEncodingSafeStartLineToken(target);
  }
}
