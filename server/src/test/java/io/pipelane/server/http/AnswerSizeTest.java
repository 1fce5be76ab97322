package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceService;
import org.junit.jupiter.api.Test;

/** A request of a few bytes whose outputs are large: no buffer is taken for what is refused. */
class AnswerSizeTest {
  /** A service whose outputs would have so many bytes. */
  private static InferenceService placing(long bytes) {
    return (request, handler) -> {
      try {
        handler.place("y_x", TensorType.FP32, Shape.of(bytes / 4), bytes);
      } catch (StatusException e) {
        handler.failed(e);
      }
      return EchoService.holding().submit(request, handler);
    };
  }

  private static Reply answer(long bytes, boolean binary) {
    String json =
        "{\"parameters\":{\"binary_data_output\":%b},\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\","
                .formatted(binary)
            + "\"shape\":[1,4],\"data\":[1,2,3,4]}]}";
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), placing(bytes))) {
      return conversation.send(Requests.infer("echo", json)).onlyReply();
    }
  }

  @Test
  void answer_ofMoreJsonThanABufferCanHold_isRefusedWithTheLimit() {
    Reply reply = answer(300 << 20, false);
    assertEquals(413, reply.status(), reply.text());
    assertTrue(reply.text().contains("have 314572800 bytes or more, the limit is 268435456"));
    assertTrue(reply.text().contains("or for binary data"));
  }

  @Test
  void answer_ofMoreBytesThanABufferCanHold_isRefusedWithTheLimit() {
    Reply reply = answer(3L << 30, true);
    assertEquals(413, reply.status(), reply.text());
    assertTrue(reply.text().contains("has 3221225472 bytes, the limit is 2147483647"));
  }
}
