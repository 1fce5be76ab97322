package io.pipelane.server.net;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.pipelane.config.StatusException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a connection hears of its client, over each transport that this machine offers. */
@Timeout(60)
final class UnheardResetTest {
  private static final int SECONDS = 10;

  private final CountDownLatch opened = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);

  /** Notes when the connection opens and ends, and drops what comes on it. */
  private final class Watch extends SimpleChannelInboundHandler<Object> {
    @Override
    public void channelActive(ChannelHandlerContext context) {
      opened.countDown();
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, Object message) {}

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      ended.countDown();
    }

    @Override
    @SuppressWarnings("deprecation") // as Netty declares it
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {}
  }

  @ParameterizedTest
  @EnumSource(value = Transport.class, mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
  void clientThatSendsAndResets_isHeardOf(Transport transport) throws Exception {
    assertEndIsHeardOf(transport, true);
  }

  @ParameterizedTest
  @EnumSource(value = Transport.class, mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
  void clientThatSendsAndCloses_isHeardOf(Transport transport) throws Exception {
    assertEndIsHeardOf(transport, false);
  }

  /** The loop finds the bytes and the connection's end together, as it is held while both come. */
  private void assertEndIsHeardOf(Transport transport, boolean resets) throws Exception {
    try {
      transport.resolve();
    } catch (StatusException e) {
      Assumptions.abort("not offered here: " + e.getMessage());
    }
    EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, transport.ioHandlers());
    CountDownLatch held = new CountDownLatch(1);
    CountDownLatch sent = new CountDownLatch(1);
    try {
      Channel listener =
          new ServerBootstrap()
              .group(loop)
              .channel(transport.serverChannel())
              .childHandler(
                  new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel connection) {
                      UnheardReset.watch(connection);
                      connection.pipeline().addLast(new Watch());
                    }
                  })
              .bind(InetAddress.getLoopbackAddress(), 0)
              .sync()
              .channel();
      InetSocketAddress address = (InetSocketAddress) listener.localAddress();
      Future<Boolean> letGo;
      try (Socket client = new Socket(address.getAddress(), address.getPort())) {
        assertTrue(opened.await(SECONDS, TimeUnit.SECONDS));
        letGo =
            loop.submit(
                () -> {
                  held.countDown();
                  return sent.await(SECONDS, TimeUnit.SECONDS);
                });
        assertTrue(held.await(SECONDS, TimeUnit.SECONDS));
        client.getOutputStream().write(new byte[1000]);
        if (resets) {
          client.setSoLinger(true, 0);
        }
      }
      sent.countDown();
      assertTrue(letGo.get(SECONDS, TimeUnit.SECONDS));
      assertTrue(ended.await(SECONDS, TimeUnit.SECONDS), "the connection is taken for open");
    } finally {
      sent.countDown();
      loop.shutdownGracefully(0, SECONDS, TimeUnit.SECONDS).sync();
    }
  }
}
