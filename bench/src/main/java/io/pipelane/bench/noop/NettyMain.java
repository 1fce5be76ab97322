package io.pipelane.bench.noop;

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
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The program of a process that answers every request with the same bytes: what Netty can do at
 * most. Arguments: a file with the bytes of the whole answer, the number of event loops. It ends
 * with its standard input.
 */
public final class NettyMain {
  private NettyMain() {}

  public static void main(String[] arguments) throws IOException, InterruptedException {
    ByteBuf answer = Unpooled.unreleasableBuffer(direct(Files.readAllBytes(Path.of(arguments[0]))));
    Transport transport = Transport.AUTO.resolve();
    try (EventLoopGroup loops =
        new MultiThreadIoEventLoopGroup(Integer.parseInt(arguments[1]), transport.ioHandlers())) {
      Channel listener =
          new ServerBootstrap()
              .group(loops)
              .channel(transport.serverChannel())
              .childOption(ChannelOption.TCP_NODELAY, true)
              .childHandler(
                  new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                      channel.pipeline().addLast(new HttpRequestDecoder(), new Answering(answer));
                    }
                  })
              .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
              .sync()
              .channel();
      InetSocketAddress address = (InetSocketAddress) listener.localAddress();
      System.out.println("Listening on http://127.0.0.1:" + address.getPort());
      System.out.flush();
      System.in.transferTo(OutputStream.nullOutputStream());
    }
  }

  private static ByteBuf direct(byte[] bytes) {
    return Unpooled.directBuffer(bytes.length).writeBytes(bytes);
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
