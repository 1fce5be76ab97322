package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.server.net.ScantMemory;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;

/** Requests for whose bodies or tensors there is no room outside Java's heap. */
class ScantMemoryTest {
  private static final int MOST = 50_000;
  private static final String RAW = "Inference-Header-Content-Length: 0\r\n";

  private static void assertToldOfNoRoom(byte[]... pieces) {
    try (Conversation conversation = Conversation.usual()) {
      conversation.channel.config().setAllocator(new ScantMemory(MOST));
      for (byte[] piece : pieces) {
        conversation.send(piece);
      }
      Reply reply = conversation.onlyReply();
      assertEquals(503, reply.status(), reply.text());
      assertEquals("1", reply.header("retry-after"));
      assertTrue(reply.text().contains("there is no room for"), reply.text());
    }
  }

  @Test
  void tensorInJson_isToldSo() {
    int rows = MOST / 16;
    String data = "0,0,0,0,".repeat(rows) + "0,0,0,0";
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[%d,4],\"data\":[%s]}]}"
            .formatted(rows + 1, data);
    assertToldOfNoRoom(Requests.infer("echo", json));
  }

  @Test
  void textInJson_isToldSo() {
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"%s\"]}]}"
            .formatted("7".repeat(MOST));
    assertToldOfNoRoom(Requests.infer("echo_BYTES", json));
  }

  @Test
  void textWithoutALength_isToldSo() {
    assertToldOfNoRoom(Requests.infer("echo_BYTES", "", new byte[MOST], RAW));
  }

  @Test
  void bodyInPieces_isToldSo() {
    byte[] head =
        Requests.head("POST /v2/models/echo/infer", RAW + "Transfer-Encoding: chunked\r\n")
            .getBytes(StandardCharsets.US_ASCII);
    byte[] size = "7530\r\n".getBytes(StandardCharsets.US_ASCII);
    byte[] chunk = Requests.concatenate(size, new byte[0x7530], new byte[] {'\r', '\n'});
    assertToldOfNoRoom(head, chunk, chunk);
  }

  @Test
  void compressedBody_isToldSo_whereItsSizeIsLikely() throws IOException {
    byte[] likely = Requests.concatenate(gzip(new byte[4]), new byte[MOST / 4]);
    assertToldOfNoRoom(
        Requests.post("/v2/models/echo/infer", likely, RAW + "Content-Encoding: gzip\r\n"));
  }

  @Test
  void compressedBody_isToldSo_whereItGrows() throws IOException {
    byte[] small = gzip(new byte[MOST + 4]);
    assertToldOfNoRoom(
        Requests.post("/v2/models/echo/infer", small, RAW + "Content-Encoding: gzip\r\n"));
  }

  /** Each of the outputs finds room, but not the text that they are compressed to. */
  @Test
  void answerToBeCompressed_isToldSo() {
    byte[] noise = new byte[32_000];
    new Random(7).nextBytes(noise);
    byte[] element = new byte[] {(byte) 32_000, 32_000 >> 8, 0, 0};
    String json =
        "{\"parameters\":{\"binary_data_output\":true},\"inputs\":["
            + "{\"name\":\"a\",\"datatype\":\"INT64\",\"shape\":[4000],"
            + "\"parameters\":{\"binary_data_size\":32000}},"
            + "{\"name\":\"b\",\"datatype\":\"BYTES\",\"shape\":[1],"
            + "\"parameters\":{\"binary_data_size\":32004}}]}";
    assertToldOfNoRoom(
        Requests.infer(
            "pair",
            json,
            Requests.concatenate(noise, element, noise),
            "Accept-Encoding: gzip\r\nInference-Header-Content-Length: %d\r\n"
                .formatted(json.length())));
  }

  @Test
  void shortAnswer_isWrittenOnTheHeap_whereThereIsNoOtherRoom() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.channel.config().setAllocator(new ScantMemory(0));
      assertEquals(200, conversation.send(Requests.get("/v2")).onlyReply().status());
    }
  }

  private static byte[] gzip(byte[] plain) throws IOException {
    ByteArrayOutputStream target = new ByteArrayOutputStream();
    try (GZIPOutputStream stream = new GZIPOutputStream(target)) {
      stream.write(plain);
    }
    return target.toByteArray();
  }
}
