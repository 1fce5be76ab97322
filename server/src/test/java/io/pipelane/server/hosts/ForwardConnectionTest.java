package io.pipelane.server.hosts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.pipelane.server.hosts.Forward.Failure;
import io.pipelane.server.net.OutgoingTls;
import io.pipelane.server.net.Transport;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A connection on which a request has gone, without a network. */
class ForwardConnectionTest {
  private static final HostAddress OTHER = new HostAddress("127.0.0.1", 80, false);

  private final HostCounters counters = new HostCounters();
  private final RemoteHost host =
      new RemoteHost(
          new Announcement(OTHER, "1", false, 1, 0, 0, List.of()),
          counters,
          System::nanoTime,
          Duration.ofSeconds(5));
  private final Forwarder forwarder =
      new Forwarder(
          new Forwarder.Settings(
              "own:80",
              Transport.NIO,
              OutgoingTls.open(Optional.empty(), Optional.empty()).http(),
              Duration.ofSeconds(1),
              Duration.ofHours(1)));
  private final EmbeddedChannel channel =
      new EmbeddedChannel(new ForwardConnection(forwarder, OTHER));
  private final List<Failure> failures = new ArrayList<>();
  private final List<String> said = new ArrayList<>();
  private final Logger logger = Logger.getLogger(RemoteHost.class.getName());
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord logged) {
          said.add(String.valueOf(logged.getParameters()[1]));
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  @BeforeEach
  void ask() {
    logger.addHandler(handler);
    forwarder.keep(channel, OTHER);
    Forward.Request request =
        new Forward.Request(
            channel.eventLoop(),
            HttpMethod.GET,
            "/",
            new DefaultHttpHeaders(),
            Unpooled.EMPTY_BUFFER,
            false,
            System.nanoTime(),
            OptionalLong.empty());
    ForwardAttempt _ =
        forwarder.send(
            host,
            request,
            new Forward.Receiver() {
              @Override
              public void answered(Forward.Answer answer) {
                throw new AssertionError("no answer is whole");
              }

              @Override
              public void failed(Failure failure) {
                failures.add(failure);
              }

              @Override
              public void unreachedAfterAll() {
                throw new AssertionError("nothing has been due");
              }
            });
    channel.writeInbound(new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK));
  }

  @AfterEach
  void end() {
    logger.removeHandler(handler);
    assertFalse(channel.finish() && !channel.releaseOutbound());
  }

  private long counted(String outcome) {
    return counters.read().getOrDefault(OTHER.toString(), Map.of()).getOrDefault(outcome, 0L);
  }

  private void assertTooLarge(ByteBuf... pieces) {
    assertEquals(List.of(Failure.TOO_LARGE), failures);
    assertFalse(channel.isActive());
    assertEquals(1, counted("too_large"));
    assertEquals(List.of(), said);
    for (ByteBuf piece : pieces) {
      assertEquals(1, piece.refCnt());
    }
  }

  @Test
  void answerWithoutEnd_isGivenUp_onceItIsLargerThanAnyMayBe() {
    ByteBuf piece = Unpooled.wrappedBuffer(new byte[1 << 20]);
    for (int i = 0; i < 1 << 11; i++) {
      assertTrue(failures.isEmpty());
      channel.writeInbound(new DefaultHttpContent(piece.retainedDuplicate()));
    }
    assertTooLarge(piece);
  }

  @Test
  void answerThatFindsNoRoom_isGivenUp_andIsNotTheHostsFault() {
    ByteBuf piece = Unpooled.wrappedBuffer(new byte[1]);
    channel.writeInbound(new DefaultHttpContent(piece.retainedDuplicate()));
    channel.pipeline().fireExceptionCaught(new OutOfMemoryError("a test's"));
    assertTooLarge(piece);
  }

  @Test
  void whyARequestWasLost_isSaid_onceUntilOneIsAnswered() {
    channel.pipeline().fireExceptionCaught(new IOException("a test's"));
    assertEquals(List.of(Failure.BROKEN), failures);
    host.complainOf(new IOException("again"));
    assertEquals(List.of("java.io.IOException: a test's"), said);
    host.give(() -> {}).end(RemoteHost.Outcome.ANSWERED);
    host.complainOf(new IOException("anew"));
    assertEquals(2, said.size());
  }
}
