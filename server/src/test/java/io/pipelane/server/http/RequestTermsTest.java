package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.repository.ModelOptions.OwnTimes;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.TensorType;
import io.pipelane.switcher.InferenceRequest;
import java.time.Duration;
import java.util.List;
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
  private static final String RAW = "Inference-Header-Content-Length: 0\r\n";

  private static InferenceRequest submitted(String model, String parameters) {
    return submitted(FakeCatalog.usual(), model, parameters);
  }

  private static InferenceRequest submitted(FakeCatalog catalog, String model, String parameters) {
    return submitted(catalog, model, parameters, "");
  }

  private static InferenceRequest submitted(
      FakeCatalog catalog, String model, String parameters, String headers) {
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(catalog, service)) {
      String json =
          "{\"parameters\":{%s},\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\","
                  .formatted(parameters)
              + "\"data\":[1,2,3,4]}]}";
      conversation.send(Requests.infer(model, json, new byte[0], headers));
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

  @ParameterizedTest
  @CsvSource({
    "echo, offline, '', OFFLINE",
    "echo, 2, '\"priority\":\"online\"', OFFLINE",
    "background, ONLINE, '\"priority\":\"offline\"', ONLINE",
    "background, 0, '', OFFLINE",
    "echo, 0, '\"priority\":\"offline\"', OFFLINE"
  })
  void priority_ofTheHeader_standsAboveTheBodys(
      String model, String header, String parameters, Priority expected) {
    assertEquals(
        expected,
        submitted(FakeCatalog.usual(), model, parameters, "Pipelane-Priority: " + header + "\r\n")
            .priority());
  }

  /** One tensor's bytes, which have no other place for it. */
  @Test
  void priority_ofARawRequest_isItsHeaders() {
    EchoService service = EchoService.holding();
    try (Conversation conversation = new Conversation(FakeCatalog.usual(), service)) {
      conversation.send(
          Requests.infer("echo", "", new byte[16], RAW + "Pipelane-Priority: offline\r\n"));
      assertEquals(Priority.OFFLINE, service.pending.getFirst().request.priority());
      service.pending.getFirst().complete();
      conversation.send(
          Requests.infer("echo", "", new byte[16], RAW + "Pipelane-Priority: low\r\n"));
      List<Reply> replies = conversation.replies();
      assertEquals(List.of(200, 400), replies.stream().map(Reply::status).toList());
      assertTrue(replies.getLast().text().contains("the header pipelane-priority is"));
    }
  }

  @Test
  void deadline_isTheRequestsOrElseTheModels() {
    assertEquals(OptionalLong.empty(), submitted("echo", "").deadlineNanos());
    assertObjective(Duration.ofHours(1), submitted("background", ""));
    assertOwnTime(Duration.ofHours(2), submitted("background", "\"timeout\":7200000000"));
    assertOwnTime(Duration.ofHours(2), submitted("echo", "\"timeout\":7200000000"));
  }

  @Test
  void deadline_ofAModelWhoseOwnerForbidsIt_isTheModels() {
    assertObjective(Duration.ofHours(1), owned(OwnTimes.NONE, ""));
    assertObjective(Duration.ofHours(1), owned(OwnTimes.NONE, "\"timeout\":7200000000"));
    assertObjective(Duration.ofHours(1), owned(OwnTimes.NONE, "\"timeout\":60000000"));
    assertObjective(Duration.ofHours(1), owned(OwnTimes.SHORTER, ""));
    assertObjective(Duration.ofHours(1), owned(OwnTimes.SHORTER, "\"timeout\":7200000000"));
    assertObjective(Duration.ofHours(1), owned(OwnTimes.SHORTER, "\"timeout\":3600000000"));
    assertOwnTime(Duration.ofMinutes(1), owned(OwnTimes.SHORTER, "\"timeout\":60000000"));
  }

  private static InferenceRequest owned(OwnTimes ownTimes, String parameters) {
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.add(
        "owned",
        FakeCatalog.bounded(4, Duration.ofHours(1), ownTimes),
        FakeCatalog.spec("x", TensorType.FP32, -1, 4));
    return submitted(catalog, "owned", parameters);
  }

  /** Described, and as one tensor's bytes. */
  @Test
  void rows_beyondTheModelsLimit_areRefusedWithBothNumbers() {
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.add(
        "few",
        FakeCatalog.bounded(2, Duration.ofHours(1), OwnTimes.ANY),
        FakeCatalog.spec("x", TensorType.FP32, -1, 1));
    String json =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d,1],\"datatype\":\"FP32\",\"data\":%s}]}";
    try (Conversation conversation = new Conversation(catalog, EchoService.inline())) {
      conversation.send(Requests.infer("few", json.formatted(2, "[1,2]")));
      conversation.send(Requests.infer("few", json.formatted(3, "[1,2,3]")));
      conversation.send(Requests.infer("few", "", new byte[12], RAW));
      List<Reply> replies = conversation.replies();
      assertEquals(List.of(200, 400, 400), replies.stream().map(Reply::status).toList());
      for (Reply refused : replies.subList(1, 3)) {
        assertTrue(refused.text().contains("has 3 rows, model few/2 takes at most 2"));
      }
    }
  }

  private static void assertObjective(Duration time, InferenceRequest request) {
    assertTrue(request.deadline().isObjective(), "devices are judged by it");
    assertWithin(time, request);
  }

  private static void assertOwnTime(Duration time, InferenceRequest request) {
    assertFalse(request.deadline().isObjective(), "it is the caller's");
    assertWithin(time, request);
  }

  private static void assertWithin(Duration time, InferenceRequest request) {
    long left = request.deadlineNanos().orElseThrow() - System.nanoTime();
    assertTrue(left <= time.toNanos() && left > time.toNanos() / 2, left + " ns are left");
  }
}
