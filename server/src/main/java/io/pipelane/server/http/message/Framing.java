package io.pipelane.server.http.message;

import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.pipelane.server.http.message.ResponseHead.Persistence;

/** The way in which answers are put on a channel. Stateless. */
public sealed interface Framing permits Http1Framing, Http2Framing {
  /**
   * Writes a response, does not flush; takes over every buffer.
   *
   * @param headOnly leaves the body out, as a HEAD request wants it
   * @return told when the last of it has been written
   */
  ChannelFuture write(
      ChannelHandlerContext context, Response response, boolean headOnly, Persistence persistence);

  /** Lets the client send its body, and flushes. */
  void offerContinue(ChannelHandlerContext context);

  /**
   * Closes once the last answer has left.
   *
   * @param clientMaySend whether the client has not come to the end of its request
   */
  void close(ChannelHandlerContext context, boolean clientMaySend);
}
