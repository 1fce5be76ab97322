package io.pipelane.server.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.unix.UnixChannel;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Clients that take answers more or less quickly, on a clock that the test moves. */
@Timeout(60)
@SuppressWarnings("FutureReturnValueIgnored") // tests look at what comes of it
class AnswerPaceTest {
  private static final Duration PERIOD = Duration.ofSeconds(2);
  private static final int LARGE = 1 << 20;

  private final Client client = new Client();

  /** A socket that takes what its client has read. */
  private static final class Client extends EmbeddedChannel {
    private int room;

    @Override
    protected void doWrite(ChannelOutboundBuffer answers) {
      while (room > 0 && answers.current() instanceof ByteBuf answer) {
        int taken = Math.min(room, answer.readableBytes());
        room -= taken;
        answers.removeBytes(taken);
      }
    }

    void reads(int bytes) {
      room += bytes;
      flush();
    }
  }

  @BeforeEach
  void begin() {
    client.freezeTime();
    client.pipeline().addLast(new AnswerPace(PERIOD));
  }

  @AfterEach
  void end() {
    client.finishAndReleaseAll();
  }

  private void answer(int bytes) {
    client.writeOneOutbound(Unpooled.buffer(bytes).writeZero(bytes));
    client.flush();
  }

  /** Passes some seconds, at the end of each of which the client has read some bytes. */
  private void pass(int seconds, int bytesASecond) {
    for (int i = 0; i < seconds && client.isOpen(); i++) {
      client.reads(bytesASecond);
      client.advanceTimeBy(1, TimeUnit.SECONDS);
      client.runScheduledPendingTasks();
    }
  }

  @Test
  void answerThatIsNotRead_isGivenUp() {
    answer(LARGE);
    pass(4, 0);
    assertFalse(client.isOpen());
  }

  @Test
  void answerThatIsReadByteByByte_isGivenUp() {
    answer(LARGE);
    pass(4, 200);
    assertFalse(client.isOpen());
  }

  @Test
  void answerThatIsReadOverASlowLink_isSent() {
    answer(LARGE);
    pass(LARGE / (2 << 10) + 1, 2 << 10);
    assertTrue(client.isOpen());
    assertEquals(0, client.unsafe().outboundBuffer().size(), "answers that have not been taken");
  }

  @Test
  void smallAnswersThatAreRead_areNotAddedUp() {
    for (int i = 0; i < 30; i++) {
      answer(10);
      pass(1, i % 2 == 0 ? 0 : 20);
    }
    assertTrue(client.isOpen());
  }

  @Test
  void clientThatIsOwedNothing_isLetAlone() {
    answer(100);
    pass(1, 100);
    pass(1000, 0);
    assertTrue(client.isOpen());
  }

  /** A connection over a real socket whose client reads nothing, and what has been done with it. */
  private static void withIdleReader(Transport transport, Duration period, Consumer<Channel> test)
      throws Exception {
    CompletableFuture<Channel> accepted = new CompletableFuture<>();
    Transport used = transport.resolve();
    try (EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, used.ioHandlers());
        Socket socket = new Socket()) {
      Channel listener =
          new ServerBootstrap()
              .group(loops)
              .channel(used.serverChannel())
              .childHandler(
                  new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                      channel.pipeline().addLast(new AnswerPace(period));
                      accepted.complete(channel);
                    }
                  })
              .bind(InetAddress.getLoopbackAddress(), 0)
              .sync()
              .channel();
      socket.setReceiveBufferSize(4 << 10);
      socket.connect(listener.localAddress());
      test.accept(accepted.get());
      loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AUTO", "NIO"})
  void socketThatTakesNothing_isClosed(Transport transport) throws Exception {
    withIdleReader(
        transport,
        Duration.ofMillis(100),
        channel -> {
          channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[8 << 20]));
          channel.closeFuture().syncUninterruptibly();
        });
  }

  @Test
  void whatTheKernelHolds_isOwed() throws Exception {
    withIdleReader(
        Transport.AUTO,
        Duration.ofMinutes(1),
        channel -> {
          channel.writeAndFlush(Unpooled.wrappedBuffer(new byte[64 << 10])).syncUninterruptibly();
          assumeTrue(channel instanceof UnixChannel);
          int held =
              channel
                  .eventLoop()
                  .submit(() -> SendQueue.bytes(channel))
                  .syncUninterruptibly()
                  .getNow();
          assertTrue(held > 0 && held < 64 << 10, "bytes: " + held);
        });
  }
}
