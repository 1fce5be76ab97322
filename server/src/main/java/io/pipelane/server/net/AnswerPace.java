package io.pipelane.server.net;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.util.concurrent.ScheduledFuture;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Closes a connection whose client takes answers so slowly that it holds them rather than reads,
 * and ends such streams of HTTP/2. Stands next to the socket, before TLS.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a write or close that fails closes the channel
public final class AnswerPace extends ChannelOutboundHandlerAdapter {
  /*
   * It looks once a period. Of what was owed at the last look, all or at least the pace's bytes must
   * have been taken by this one; so a client that is told something now and then owes nothing.
   *
   * What is owed is what the channel and, where it can be asked, the kernel still hold. The kernel
   * takes more from us only once a third of its buffer is free, which on a fast link is a megabyte:
   * without asking it a slow reader would look like one that has stopped.
   *
   * In HTTP/2 an answer leaves its stream only as far as the client allows: StreamPace.
   */

  /** What a channel counts for a buffer beside its bytes. */
  private static final int ENTRY_BYTES = 96;

  private final Duration period;
  private final long leastBytes;
  private long written;
  private long owedBefore;
  private @Nullable StreamPace streams;
  private @Nullable ScheduledFuture<?> looks;

  /**
   * One for a connection on which nothing has been sent.
   *
   * @param period how long a client may take nothing of what there is for it
   */
  public AnswerPace(Duration period) {
    this.period = period;
    this.leastBytes = LeastPace.bytesIn(period);
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    long millis = period.toMillis();
    looks =
        context
            .executor()
            .scheduleWithFixedDelay(() -> look(context), millis, millis, TimeUnit.MILLISECONDS);
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext context) {
    if (looks != null) {
      looks.cancel(false);
    }
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
    if (message instanceof ByteBuf bytes) {
      written += bytes.readableBytes() + ENTRY_BYTES;
    }
    context.write(message, promise);
  }

  private void look(ChannelHandlerContext context) {
    long owed = owed(context.channel());
    long taken = owedBefore + written - owed;
    boolean tooSlow = taken < Math.min(leastBytes, owedBefore);
    owedBefore = owed;
    written = 0;
    if (tooSlow || streamsAreTooSlow(context, owed < leastBytes)) {
      context
          .channel()
          .config()
          .setOption(ChannelOption.SO_LINGER, 0); // The kernel drops the rest.
      context.close();
    }
  }

  private static long owed(Channel channel) {
    ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
    return buffer == null
        ? 0
        : buffer.totalPendingWriteBytes() - buffer.currentProgress() + SendQueue.bytes(channel);
  }

  private boolean streamsAreTooSlow(ChannelHandlerContext context, boolean littleIsOwed) {
    if (streams == null) {
      Http2ConnectionHandler handler = context.pipeline().get(Http2ConnectionHandler.class);
      streams = handler == null ? null : new StreamPace(handler, leastBytes);
    }
    ChannelHandlerContext handler = context.pipeline().context(Http2ConnectionHandler.class);
    return streams != null && handler != null && streams.look(handler, littleIsOwed);
  }
}
