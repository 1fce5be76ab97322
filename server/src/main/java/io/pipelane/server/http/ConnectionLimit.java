package io.pipelane.server.http;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.pipelane.config.StatusException;
import io.pipelane.server.http.message.Response;
import io.pipelane.server.http.message.ResponseHead;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts open connections and turns away those beyond a limit. Safe for any thread. */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
final class ConnectionLimit {
  private final int limit;
  private final AtomicInteger open = new AtomicInteger();

  ConnectionLimit(int limit) {
    this.limit = limit;
  }

  /**
   * Counts a new connection until it is closed.
   *
   * @return false, having answered it with 503 and begun to close it, beyond the limit
   */
  boolean admit(Channel channel) {
    int now = open.incrementAndGet();
    channel.closeFuture().addListener(_ -> open.decrementAndGet());
    if (now <= limit) {
      return true;
    }
    ByteBufAllocator allocator = channel.alloc();
    Response response =
        Response.error(
            StatusException.unavailable(
                "the server has reached its limit of " + limit + " connections"),
            allocator);
    ResponseHead.prepend(response, ResponseHead.Persistence.CLOSED);
    channel.writeAndFlush(response.body()).addListener(ChannelFutureListener.CLOSE);
    return false;
  }
}
