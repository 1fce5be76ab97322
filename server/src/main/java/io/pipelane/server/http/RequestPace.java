package io.pipelane.server.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.concurrent.ScheduledFuture;
import io.pipelane.server.net.LeastPace;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The watch over requests that come so slowly, head or body, that they hold a connection rather
 * than ask something. Stands in front of what takes requests apart, and is told where they end.
 */
final class RequestPace extends ChannelInboundHandlerAdapter {
  /*
   * A request that comes in one read costs nothing but the marks. The clock is looked at only once
   * a read has left a request unfinished, and then once a period. A request that is the same all
   * through a period must have brought the least by its end. Where the server itself does not read,
   * nothing is said.
   */

  /** The event that tells handlers behind of a request that is too slow. */
  record TooSlow() {}

  private final Duration period;
  private final long leastBytes;
  private long request;
  private long watchedRequest;
  private long bytes;
  private boolean unfinished;
  private @Nullable ScheduledFuture<?> watch;

  /**
   * A pace at which nothing has come.
   *
   * @param period how long a request may take to come at any pace
   */
  RequestPace(Duration period) {
    this.period = period;
    this.leastBytes = LeastPace.bytesIn(period);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    unfinished = true;
    bytes += size(message);
    context.fireChannelRead(message);
  }

  private static int size(Object message) {
    return switch (message) {
      case ByteBuf buffer -> buffer.readableBytes();
      case ByteBufHolder holder -> holder.content().readableBytes();
      default -> 0;
    };
  }

  /** The whole request has come. */
  void requestEnded() {
    unfinished = false;
    request++;
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    if (unfinished && watch == null) {
      watch(context);
    }
    context.fireChannelReadComplete();
  }

  private void watch(ChannelHandlerContext context) {
    watchedRequest = request;
    bytes = 0;
    watch =
        context.executor().schedule(() -> look(context), period.toMillis(), TimeUnit.MILLISECONDS);
  }

  private void look(ChannelHandlerContext context) {
    watch = null;
    if (!unfinished || context.isRemoved()) {
      return;
    }
    boolean tooSlow =
        request == watchedRequest && bytes < leastBytes && context.channel().config().isAutoRead();
    watch(context);
    if (tooSlow) {
      context.fireUserEventTriggered(new TooSlow());
    }
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext context) {
    if (watch != null) {
      watch.cancel(false);
    }
  }
}
