package io.pipelane.server.grpc;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts a listening channel's open connections and closes those beyond a limit, before anything is
 * made for them. Stands before what takes connections on.
 */
@SuppressWarnings("FutureReturnValueIgnored") // nothing follows from a close
final class ConnectionCount extends ChannelInboundHandlerAdapter {
  private final int limit;
  private final AtomicInteger open = new AtomicInteger();

  ConnectionCount(int limit) {
    this.limit = limit;
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
    context.fireChannelRead(accepted);
  }
}
