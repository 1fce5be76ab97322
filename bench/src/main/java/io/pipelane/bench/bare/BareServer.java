package io.pipelane.bench.bare;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import io.pipelane.server.net.Transport;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ScheduledExecutorService;

/** An HTTP server that answers every request with the same bytes: what Netty can do at most. */
public final class BareServer implements AutoCloseable {
  private final EventLoopGroup loops;
  private final InetSocketAddress address;

  /**
   * Listens on a free port of the loopback address.
   *
   * @param answer head and body
   */
  public BareServer(byte[] answer, int eventLoops) throws InterruptedException {
    ByteBuf bytes =
        Unpooled.unreleasableBuffer(Unpooled.directBuffer(answer.length).writeBytes(answer));
    Transport transport = Transport.AUTO.resolve();
    loops = new MultiThreadIoEventLoopGroup(eventLoops, transport.ioHandlers());
    Channel listener =
        new ServerBootstrap()
            .group(loops)
            .channel(transport.serverChannel())
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(new HttpRequestDecoder(), new Answering(bytes));
                  }
                })
            .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .sync()
            .channel();
    address = (InetSocketAddress) listener.localAddress();
  }

  /**
   * An event loop, to run other things on; with a single one, everything stands still meanwhile.
   */
  public ScheduledExecutorService eventLoop() {
    return loops.next();
  }

  /** Says where it listens, as {@code ChildProcess} reads it, and returns when the input ends. */
  public void serveUntilInputEnds() throws IOException {
    System.out.println("Listening on http://127.0.0.1:" + address.getPort());
    System.out.flush();
    System.in.transferTo(OutputStream.nullOutputStream());
  }

  @Override
  public void close() {
    loops.close();
  }

  /** Answers when a request has ended. */
  @SuppressWarnings("FutureReturnValueIgnored") // a write that fails closes the channel
  private static final class Answering extends ChannelInboundHandlerAdapter {
    private final ByteBuf answer;

    Answering(ByteBuf answer) {
      this.answer = answer;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      if (message instanceof LastHttpContent) {
        context.write(answer.duplicate(), context.voidPromise());
      }
      ReferenceCountUtil.release(message);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
      context.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      context.close();
    }
  }
}
