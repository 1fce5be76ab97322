package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.runtime.TensorType;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Bodies that are nothing but one tensor's bytes. */
class RawTensorTest {
  private static Reply send(String model, byte[] body) {
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.add("batches", FakeCatalog.spec("x", TensorType.FP32, -1, -1));
    catalog.add("three", FakeCatalog.spec("x", TensorType.FP32, -1, -1, -1));
    try (Conversation conversation = new Conversation(catalog, EchoService.inline())) {
      return conversation
          .send(Requests.infer(model, "", body, "Inference-Header-Content-Length: 0\r\n"))
          .onlyReply();
    }
  }

  private static void assertAnswer(String shape, byte[] data, Reply reply) {
    assertEquals(200, reply.status(), reply.text());
    assertTrue(reply.json().contains("\"shape\":" + shape), reply.json());
    assertArrayEquals(data, reply.binary());
  }

  private static void assertRefused(String reason, Reply reply) {
    assertEquals(400, reply.status());
    assertTrue(reply.text().contains(reason), reply.text());
  }

  @Test
  void openDimension_followsFromTheLength() {
    byte[] data = Requests.floats(1, 2, 3, 4, 5, 6, 7, 8);
    assertAnswer("[2,4]", data, send("echo", data));
    assertAnswer("[1,8]", data, send("batches", data));
    assertAnswer("[]", Requests.floats(3), send("scalar", Requests.floats(3)));
  }

  @Test
  void strings_areOneElementWithoutALength() {
    byte[] text = "caf\u00e9".getBytes(StandardCharsets.UTF_8);
    assertAnswer("[1]", Requests.strings("caf\u00e9"), send("echo_BYTES", text));
  }

  @Test
  void bodiesThatFitNoShape_areRefused() {
    assertRefused("multiples of 16", send("echo", new byte[17]));
    assertRefused("does not follow", send("three", new byte[4]));
    assertRefused("models with one input", send("pair", new byte[4]));
    assertRefused("has 4 bytes, the body has 5", send("scalar", new byte[5]));
    assertRefused("Length is 0, so the body is one tensor's bytes", send("echo", new byte[0]));
  }
}
