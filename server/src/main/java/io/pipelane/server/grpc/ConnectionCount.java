package io.pipelane.server.grpc;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.pipelane.server.net.AnswerPace;
import io.pipelane.server.net.UnheardReset;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts a listening channel's open connections and closes those beyond a limit, before anything is
 * made for them; the others must take their answers at a pace, and their frames are gathered as
 * {@link FrameBytes} does. Stands before what takes connections on.
 */
@SuppressWarnings("FutureReturnValueIgnored") // nothing follows from a close
final class ConnectionCount extends ChannelInboundHandlerAdapter {
  private final int limit;
  private final Duration idleTimeout;
  private final AtomicInteger open = new AtomicInteger();

  ConnectionCount(int limit, Duration idleTimeout) {
    this.limit = limit;
    this.idleTimeout = idleTimeout;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object accepted) {
    Channel connection = (Channel) accepted;
    if (open.incrementAndGet() > limit) {
      open.decrementAndGet();
      connection.unsafe().closeForcibly(); // It has no event loop yet.
      return;
    }
    connection.closeFuture().addListener(_ -> open.decrementAndGet());
    UnheardReset.watch(connection);
    connection.pipeline().addLast(new AnswerPace(idleTimeout));
    FrameBytes.gatherIn(connection);
    context.fireChannelRead(accepted);
  }
}
