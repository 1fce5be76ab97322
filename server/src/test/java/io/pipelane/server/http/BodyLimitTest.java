package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BodyLimitTest {
  private static final int UNREAD = 4 << 10;
  private static final int FEW = 256 << 10;

  private static Reply ask(String start, byte[] body, String fields) {
    String length = "Content-Length: " + body.length + "\r\n";
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(Requests.bytes(Requests.head(start, fields + length), body));
      return conversation.onlyReply();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"GET /v2/health/live", "GET /v2/health/ready", "GET /page/main.js", "GET /v2"})
  void bodyThatNobodyReads_isShort(String start) {
    assertEquals(200, ask(start, new byte[UNREAD], "").status());
    Reply refused = ask(start, new byte[UNREAD + 1], "");
    assertEquals(413, refused.status());
    assertTrue(refused.text().contains("larger than a body may be here, 4096"), refused.text());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "POST /v2/repository/index",
        "POST /v2/repository/models/echo/unload",
        "POST /v2/repository/models/echo/versions",
        "POST /v2/trace/setting",
        "POST /v2/models/echo/trace/setting",
        "POST /v2/logging",
        "POST /v2/systemsharedmemory/region/r/register"
      })
  void bodyThatAnEventLoopReads_isNotLong_packedOrNot(String start) throws IOException {
    assertEquals(413, ask(start, new byte[FEW + 1], "").status());
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream target = new GZIPOutputStream(packed)) {
      target.write(new byte[FEW + 1]);
    }
    assertEquals(413, ask(start, packed.toByteArray(), "Content-Encoding: gzip\r\n").status());
  }

  @Test
  void choiceOfVersions_mayBeLongerThanWhatNobodyReads() {
    byte[] choice = ("{" + " ".repeat(UNREAD) + "}").getBytes(StandardCharsets.US_ASCII);
    assertNotEquals(413, ask("POST /v2/repository/models/echo/versions", choice, "").status());
  }

  @Test
  void bodyThatNobodyReads_isShort_thoughItSaysNoLength() {
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(Requests.head("GET /v2/health/live", "Transfer-Encoding: chunked\r\n"));
      for (int sent = 0; sent <= UNREAD; sent += 1024) {
        conversation.send(
            Requests.bytes("400\r\n", Requests.bytes("x".repeat(1024) + "\r\n", new byte[0])));
      }
      assertEquals(413, conversation.onlyReply().status());
    }
  }
}
