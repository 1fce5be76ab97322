package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2HeadersDecoder;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.Http2Frames;
import io.pipelane.server.net.TransferBuffers;
import io.pipelane.server.net.Transport;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/**
 * Frames of HTTP/2 through the server's real pipeline: whole, cut at every byte, and damaged. What
 * was damaged leaves nothing, and no exception leaves the pipeline.
 */
class Http2FuzzTest {
  private static final boolean LONG = Boolean.getBoolean("pipelane.long");
  private static final Duration TIME = LONG ? Duration.ofMinutes(15) : Duration.ofSeconds(12);
  private static final long MOST_CASES = LONG ? 200_000 : Long.MAX_VALUE;
  private static final byte[] BODY =
      "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\",\"data\":[1,2,3,4]}]}"
          .getBytes(StandardCharsets.UTF_8);

  private final TransferMemory memory = new TransferMemory(Arena.ofAuto().allocate(1 << 20));

  /** A connection, with an allocator that counts. */
  private final class Connection {
    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();

    Connection() {
      HttpSettings settings =
          new HttpSettings(
              "localhost",
              0,
              Transport.NIO,
              1,
              1 << 20,
              16,
              Duration.ofSeconds(60),
              Optional.empty());
      ServerActivity activity = new ServerActivity();
      FakeCatalog catalog = FakeCatalog.usual();
      catalog.loading.complete(null);
      Api api =
          new Api(
              Backends.of(catalog, EchoService.inline()),
              Optional.empty(),
              activity,
              Runnable::run);
      channel.config().setAllocator(allocator);
      new ConnectionSetup(settings, ServedPort.PUBLIC, api, activity, new TransferBuffers(memory))
          .begin(channel);
    }

    Connection send(byte[] bytes, int begin, int end) {
      if (channel.isOpen() && end > begin) {
        channel.writeInbound(
            allocator.directBuffer(end - begin).writeBytes(bytes, begin, end - begin));
        channel.runPendingTasks();
      }
      return this;
    }

    byte[] end() {
      channel.unsafe().close(channel.newPromise()); // As a client that has gone.
      channel.runPendingTasks();
      for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
        byte[] bytes = new byte[part.readableBytes()];
        part.readBytes(bytes);
        received.writeBytes(bytes);
        part.release();
      }
      channel.finishAndReleaseAll();
      channel.checkException();
      assertEquals(0, allocator.metric().usedDirectMemory() + allocator.metric().usedHeapMemory());
      assertEquals(0, memory.lentBytes());
      return received.toByteArray();
    }
  }

  /** Netty takes stream 1 of a channel that no server has accepted for an upgraded one. */
  private static List<byte[]> sound() {
    List<byte[]> frames = new ArrayList<>();
    frames.add(Http2Frames.settings());
    frames.addAll(
        Http2Frames.request(
            3,
            BODY,
            ":method",
            "POST",
            ":scheme",
            "http",
            ":authority",
            "localhost",
            ":path",
            "/v2/models/echo/infer"));
    frames.addAll(
        Http2Frames.request(
            5,
            new byte[0],
            ":method",
            "GET",
            ":scheme",
            "http",
            ":authority",
            "localhost",
            ":path",
            "/v2/health/ready"));
    return frames;
  }

  /** Status and body of each stream's answer. */
  private static Map<Integer, String> answers(byte[] received) throws Http2Exception {
    Http2HeadersDecoder fields = new DefaultHttp2HeadersDecoder();
    Map<Integer, String> answers = new TreeMap<>();
    ByteBuf bytes = Unpooled.wrappedBuffer(received);
    while (bytes.readableBytes() >= 9) {
      int length = bytes.readUnsignedMedium();
      int type = bytes.readUnsignedByte();
      bytes.skipBytes(1);
      int stream = bytes.readInt();
      ByteBuf payload = bytes.readSlice(length);
      if (type == Http2Frames.HEADERS) {
        answers.merge(stream, fields.decodeHeaders(stream, payload).status() + " ", String::concat);
      } else if (type == Http2Frames.DATA) {
        answers.merge(stream, payload.toString(StandardCharsets.UTF_8), String::concat);
      }
    }
    return answers;
  }

  @Test
  void frames_cutAtEveryByte_areAnsweredAsWholeOnes() throws Http2Exception {
    List<byte[]> frames = sound();
    frames.addFirst(Http2Frames.preface());
    byte[] bytes = Http2Frames.joined(frames);
    Map<Integer, String> whole = answers(new Connection().send(bytes, 0, bytes.length).end());
    assertEquals(2, whole.size());
    assertTrue(whole.getOrDefault(3, "").startsWith("200 {"), whole::toString);
    assertEquals("200 {\"ready\":true}", whole.get(5));
    for (int cut = 1; cut < bytes.length; cut++) {
      byte[] answer = new Connection().send(bytes, 0, cut).send(bytes, cut, bytes.length).end();
      assertEquals(whole, answers(answer), "cut at " + cut);
    }
    Connection single = new Connection();
    for (int i = 0; i < bytes.length; i++) {
      single.send(bytes, i, i + 1);
    }
    assertEquals(whole, answers(single.end()));
  }

  @Test
  void pathThatFitsNoRequestLine_endsTheStreamAndKeepsNothing() throws Http2Exception {
    for (String path : List.of("/v2 /x", "/v2\n", "/v2\r")) {
      List<byte[]> frames = new ArrayList<>(List.of(Http2Frames.preface(), Http2Frames.settings()));
      frames.addAll(
          Http2Frames.request(3, new byte[0], ":method", "GET", ":scheme", "http", ":path", path));
      byte[] bytes = Http2Frames.joined(frames);
      assertEquals(Map.of(), answers(new Connection().send(bytes, 0, bytes.length).end()));
    }
  }

  private static Handler noting(List<LogRecord> records) {
    return new Handler() {
      @Override
      public void publish(LogRecord record) {
        records.add(record);
      }

      @Override
      public void flush() {}

      @Override
      public void close() {}
    };
  }

  @Test
  void damagedFrames_leaveNothing_andAreNoFaults() {
    long seed = Long.getLong("pipelane.seed", System.nanoTime());
    Random random = new Random(seed);
    List<LogRecord> faults = new CopyOnWriteArrayList<>();
    Logger logger = Logger.getLogger(HttpConnection.class.getName());
    Handler noting = noting(faults);
    logger.addHandler(noting);
    long begin = System.nanoTime();
    long round = 0;
    for (; round < MOST_CASES && System.nanoTime() - begin < TIME.toNanos(); round++) {
      List<byte[]> frames = Http2Frames.damaged(sound(), random);
      frames.addFirst(Http2Frames.preface());
      byte[] bytes = Http2Frames.joined(frames);
      int cut = random.nextInt(bytes.length + 1);
      try {
        byte[] received = new Connection().send(bytes, 0, cut).send(bytes, cut, bytes.length).end();
        Map<Integer, String> answers = answers(received);
        assertTrue(
            answers.values().stream().noneMatch(answer -> answer.startsWith("500")),
            answers::toString);
        assertTrue(faults.isEmpty(), () -> faults.getFirst().getMessage());
      } catch (RuntimeException | AssertionError | Http2Exception e) {
        throw new AssertionError("seed " + seed + ", round " + round, e);
      }
    }
    logger.removeHandler(noting);
    System.out.printf("%d cases of damaged frames, seed %d%n", round, seed);
  }
}
