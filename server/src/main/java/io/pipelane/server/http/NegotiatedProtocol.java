package io.pipelane.server.http;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ApplicationProtocolNegotiationHandler;

/** Waits for what client and server agree on as TLS begins (ALPN), and leaves the pipeline. */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
final class NegotiatedProtocol extends ApplicationProtocolNegotiationHandler {
  private final ConnectionSetup setup;

  NegotiatedProtocol(ConnectionSetup setup) {
    super(ApplicationProtocolNames.HTTP_1_1);
    this.setup = setup;
  }

  @Override
  protected void configurePipeline(ChannelHandlerContext context, String protocol) {
    if (protocol.equals(ApplicationProtocolNames.HTTP_2)) {
      setup.http2(context.channel());
    } else {
      setup.http1(context.channel());
    }
  }

  /** Clients that do not trust us, or that we do not trust, are nobody's concern. */
  @Override
  protected void handshakeFailure(ChannelHandlerContext context, Throwable cause) {
    context.close();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    context.close();
  }
}
