package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceService;
import io.pipelane.switcher.ResultHandler;
import java.util.function.Consumer;
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

  /** A request that both outputs of a model of two are wanted of, the first as it says. */
  private static Reply answerOfTwo(String parametersOfFirst, Consumer<ResultHandler> run) {
    String json =
        "{\"inputs\":[{\"name\":\"a\",\"datatype\":\"INT64\",\"shape\":[1],\"data\":[1]},"
            + "{\"name\":\"b\",\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"b\"]}],"
            + "\"outputs\":[{\"name\":\"y_a\"%s},{\"name\":\"y_b\"}]}".formatted(parametersOfFirst);
    InferenceService service =
        (request, handler) -> {
          try {
            run.accept(handler);
          } catch (StatusException e) {
            handler.failed(e);
          }
          return EchoService.holding().submit(request, handler);
        };
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      return conversation.send(Requests.infer("pair", json)).onlyReply();
    }
  }

  private static void place(ResultHandler handler, String name, long bytes) {
    handler.place(name, TensorType.INT64, Shape.of(bytes / 8), bytes);
  }

  private static void assertTooMuchJson(long bytes, Reply reply) {
    assertEquals(413, reply.status(), reply.text());
    assertTrue(reply.text().contains("have %d bytes or more".formatted(bytes)), reply.text());
  }

  @Test
  void outputs_thatJsonIsWantedOf_addUp() {
    Reply reply =
        answerOfTwo(
            "",
            handler -> {
              place(handler, "y_a", 800);
              place(handler, "y_b", (256 << 20) - 8);
            });
    assertTooMuchJson(268436248, reply);
  }

  @Test
  void binaryOutput_besideJson_doesNotCount() {
    Reply reply =
        answerOfTwo(
            ",\"parameters\":{\"binary_data\":true}",
            handler -> {
              place(handler, "y_a", 800);
              place(handler, "y_b", (256 << 20) + 8);
            });
    assertTooMuchJson(268435464, reply);
  }

  /** A run in a worker process asks once more for a place that it was refused. */
  @Test
  void output_thatIsRefusedAPlace_countsOnceWhenItIsAskedForAgain() {
    Reply reply =
        answerOfTwo(
            "",
            handler -> {
              place(handler, "y_a", 800);
              assertThrows(StatusException.class, () -> place(handler, "y_b", (256 << 20) - 8));
              place(handler, "y_b", (256 << 20) - 8);
            });
    assertTooMuchJson(268436248, reply);
  }
}
