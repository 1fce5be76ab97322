package io.pipelane.server.net;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.RecvByteBufAllocator.ExtendedHandle;
import io.netty.channel.uring.IoUringSocketChannel;

/**
 * The end of a connection whose peer has reset it, where Netty's io_uring does not hear of that:
 * where the reset is found while the last bytes before it are being read.
 */
@Sharable
@SuppressWarnings("FutureReturnValueIgnored") // nothing is left to do for a connection that closes
public final class UnheardReset extends ChannelInboundHandlerAdapter {
  private static final UnheardReset INSTANCE = new UnheardReset();

  private UnheardReset() {}

  /** Has a connection hear of it; to be called before its other handlers are added. */
  public static void watch(Channel connection) {
    if (connection instanceof IoUringSocketChannel) {
      connection.pipeline().addLast(INSTANCE);
    }
  }

  /**
   * Netty reads on to the end once the kernel has told that there is one, unless it takes the
   * socket for empty. Then there is nothing more to come but the reset.
   */
  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    context.fireChannelReadComplete();
    if (context.channel().unsafe().recvBufAllocHandle() instanceof ExtendedHandle reads
        && reads.continueReading(() -> false)) {
      context.close();
    }
  }
}
