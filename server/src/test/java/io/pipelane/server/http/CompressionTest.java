package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.http.message.BodyLimit;
import io.pipelane.server.http.message.Compression;
import io.pipelane.server.http.message.Response;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.InflaterInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CompressionTest {
  private static byte[] body(float... values) {
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d,4],\"datatype\":\"FP32\",\"parameters\":"
                .formatted(values.length / 4)
            + "{\"binary_data_size\":"
            + values.length * 4
            + "}}],\"parameters\":{\"binary_data_output\":true}}";
    return Requests.bytes(json, Requests.floats(values));
  }

  private static int jsonLength(byte[] body, float... values) {
    return body.length - values.length * 4;
  }

  private static byte[] compressed(String coding, byte[] plain) throws IOException {
    ByteArrayOutputStream target = new ByteArrayOutputStream();
    try (OutputStream stream =
        coding.equals("gzip") ? new GZIPOutputStream(target) : new DeflaterOutputStream(target)) {
      stream.write(plain);
    }
    return target.toByteArray();
  }

  private static byte[] infer(byte[] body, String headers) {
    return Requests.post("/v2/models/echo/infer", body, headers);
  }

  @Test
  void placeForALargeBody_isAsLargeAsTheLimit() {
    assertEquals(400, Compression.likelyBytes(100, 1 << 30));
    assertEquals(1 << 30, Compression.likelyBytes(1 << 29, 1 << 30));
    assertEquals(1 << 30, Compression.likelyBytes(Integer.MAX_VALUE, 1 << 30));
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "deflate"})
  void compressedRequest_isAnsweredLikeAPlainOne(String coding) throws IOException {
    float[] values = {1, 2, 3, 4};
    byte[] plain = body(values);
    String length = "Inference-Header-Content-Length: " + jsonLength(plain, values) + "\r\n";
    try (Conversation conversation = Conversation.usual()) {
      Reply reply =
          conversation
              .send(
                  infer(compressed(coding, plain), length + "Content-Encoding: " + coding + "\r\n"))
              .onlyReply();
      assertEquals(200, reply.status(), reply.text());
      assertArrayEquals(Requests.floats(values), reply.binary());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "deflate"})
  void answer_isCompressedWhereTheClientLikesIt(String coding) throws IOException {
    float[] values = new float[4096];
    byte[] plain = body(values);
    String length = "Inference-Header-Content-Length: " + jsonLength(plain, values) + "\r\n";
    try (Conversation conversation = Conversation.usual()) {
      Reply reply =
          conversation
              .send(infer(plain, length + "Accept-Encoding: br, " + coding + "\r\n"))
              .onlyReply();
      assertEquals(coding, reply.header("content-encoding"));
      assertTrue(reply.body().length < 1024, "compressed");
      ByteArrayInputStream bytes = new ByteArrayInputStream(reply.body());
      byte[] body =
          (coding.equals("gzip") ? new GZIPInputStream(bytes) : new InflaterInputStream(bytes))
              .readAllBytes();
      int json = Integer.parseInt(reply.header("inference-header-content-length"));
      assertEquals(values.length * 4, body.length - json);
    }
  }

  @Test
  void answerThatNobodyWaitsForAnyMore_isNotCompressed() {
    ByteBufAllocator allocator = UnpooledByteBufAllocator.DEFAULT;
    Response answer = Response.ok(allocator, body -> body.writeZero(1 << 20));
    StatusException end =
        assertThrows(
            StatusException.class, () -> Compression.GZIP.compress(answer, allocator, () -> true));
    assertEquals(Status.CANCELLED, end.status());
    assertEquals(0, answer.body().refCnt());
  }

  @Test
  void smallAnswers_areSentAsTheyAre() {
    try (Conversation conversation = Conversation.usual()) {
      Reply reply =
          conversation.send(Requests.head("GET /v2", "Accept-Encoding: gzip\r\n")).onlyReply();
      assertEquals("", reply.header("content-encoding"));
      assertTrue(reply.text().startsWith("{"));
    }
  }

  @Test
  void bodiesBeyondTheLimitOnceDecompressed_areRefused() throws IOException {
    byte[] bomb = compressed("gzip", new byte[Conversation.LIMIT + 1]);
    try (Conversation conversation = Conversation.usual()) {
      Reply reply = conversation.send(infer(bomb, "Content-Encoding: gzip\r\n")).onlyReply();
      assertEquals(413, reply.status());
      assertTrue(reply.text().contains("server.max-request-size"), reply.text());
    }
  }

  @Test
  void gzipOfVeryManyMembers_isOneBody() throws IOException {
    byte[] empty = compressed("gzip", new byte[0]);
    byte[] last = compressed("gzip", new byte[] {1, 2, 3});
    ByteBuf body = Unpooled.buffer();
    for (int i = 0; i < 1 << 17; i++) {
      body.writeBytes(empty);
    }
    body.writeBytes(last);
    ByteBuf plain =
        Compression.GZIP.decompress(body, new BodyLimit(1 << 10, "here"), ByteBufAllocator.DEFAULT);
    assertArrayEquals(new byte[] {1, 2, 3}, ByteBufUtil.getBytes(plain));
    plain.release();
  }

  @Test
  void deflateByADictionary_isInvalid() {
    Deflater deflater = new Deflater();
    deflater.setDictionary("inputs".getBytes(StandardCharsets.UTF_8));
    deflater.setInput("{\"inputs\":[]}".getBytes(StandardCharsets.UTF_8));
    deflater.finish();
    byte[] target = new byte[64];
    byte[] zipped = Arrays.copyOf(target, deflater.deflate(target));
    deflater.end();
    try (Conversation conversation = Conversation.usual()) {
      byte[] request =
          Requests.post("/v2/repository/index", zipped, "Content-Encoding: deflate\r\n");
      assertEquals(400, conversation.send(request).onlyReply().status());
    }
  }

  @Test
  void bodiesThatAreNotCompressed_areInvalid() {
    byte[] plain = "{\"inputs\":[]}".getBytes(StandardCharsets.UTF_8);
    try (Conversation conversation = Conversation.usual()) {
      assertEquals(
          400, conversation.send(infer(plain, "Content-Encoding: gzip\r\n")).onlyReply().status());
    }
  }

  @Test
  void clientThatGoesWhileItsBodyIsDecompressed_leavesNothing() throws IOException {
    byte[] zipped = compressed("gzip", body(1, 2, 3, 4));
    Deque<Runnable> tasks = new ArrayDeque<>();
    try (Conversation conversation =
        new Conversation(FakeCatalog.usual(), EchoService.inline(), tasks::add)) {
      conversation.send(infer(zipped, "Content-Encoding: gzip\r\n"));
      conversation.disconnect();
      tasks.remove().run();
    }
  }

  @Test
  void unknownCoding_isNotServed() {
    try (Conversation conversation = Conversation.usual()) {
      Reply reply =
          conversation.send(infer(new byte[] {1}, "Content-Encoding: br\r\n")).onlyReply();
      assertEquals(501, reply.status());
      assertEquals("gzip, deflate", reply.header("accept-encoding"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "identity"})
  void twoCodings_areNotServed_onTwoLinesEither(String first) {
    try (Conversation conversation = Conversation.usual()) {
      String coding = "Content-Encoding: ";
      Reply reply =
          conversation
              .send(infer(new byte[] {1}, coding + first + "\r\n" + coding + "gzip\r\n"))
              .onlyReply();
      assertEquals(501, reply.status());
    }
  }

  @ParameterizedTest
  @CsvSource({"gzip, GZIP", "'identity, DEFLATE;q=0.5', DEFLATE", "'gzip;q=0, deflate', DEFLATE"})
  void accepted_isTheFirstThatIsServed(String header, Compression expected) {
    assertEquals(expected, Compression.accepted(header));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "identity", "br, zstd", "gzip;q=0.0", "gzip;Q=0", "*"})
  void accepted_isNullWhereNoneIsServed(String header) {
    assertNull(Compression.accepted(header));
  }
}
