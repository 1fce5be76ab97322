package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * On which terms a request waits; the model "background" has offline requests and an objective of
 * an hour.
 */
class RequestTermsTest {
  private static InferenceRequest submitted(String model, String parameters) {
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      String json =
          "{\"parameters\":{%s},\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\","
                  .formatted(parameters)
              + "\"data\":[1,2,3,4]}]}";
      conversation.send(Requests.infer(model, json));
      EchoService.Pending pending = service.pending.getFirst();
      pending.complete();
      assertEquals(200, conversation.onlyReply().status());
      return pending.request;
    }
  }

  @ParameterizedTest
  @CsvSource({
    "echo, , ONLINE",
    "echo, '\"priority\":0', ONLINE",
    "echo, '\"priority\":2', OFFLINE",
    "echo, '\"priority\":\"offline\"', OFFLINE",
    "background, , OFFLINE",
    "background, '\"priority\":0', OFFLINE",
    "background, '\"priority\":1', ONLINE",
    "background, '\"priority\":\"Online\"', ONLINE"
  })
  void priority_isTheRequestsOrElseTheModels(
      String model, @Nullable String parameters, Priority expected) {
    assertEquals(expected, submitted(model, parameters == null ? "" : parameters).priority());
  }

  @Test
  void deadline_isTheRequestsOrElseTheModels() {
    assertEquals(OptionalLong.empty(), submitted("echo", "").deadlineNanos());
    assertWithin(Duration.ofHours(1), submitted("background", ""));
    assertWithin(Duration.ofHours(2), submitted("background", "\"timeout\":7200000000"));
    assertWithin(Duration.ofHours(2), submitted("echo", "\"timeout\":7200000000"));
  }

  private static void assertWithin(Duration time, InferenceRequest request) {
    long left = request.deadlineNanos().orElseThrow() - System.nanoTime();
    assertTrue(left <= time.toNanos() && left > time.toNanos() / 2, left + " ns are left");
  }
}
