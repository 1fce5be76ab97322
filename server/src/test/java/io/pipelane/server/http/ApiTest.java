package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.net.Backend;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.CodecThreads;
import io.pipelane.server.net.HttpStatusMapping;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.switcher.InferenceService;
import java.util.List;
import org.junit.jupiter.api.Test;

class ApiTest {
  private static final String ECHO =
      "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\",\"data\":[1,2,3,4]}]}";

  private final FakeCatalog catalog = FakeCatalog.usual();

  private Reply ask(String request) {
    try (Conversation conversation = new Conversation(catalog, EchoService.inline())) {
      return conversation.send(request).onlyReply();
    }
  }

  private Reply get(String path) {
    return ask(Requests.get(path));
  }

  private Reply post(String path, String body) {
    try (Conversation conversation = new Conversation(catalog, EchoService.inline())) {
      return conversation
          .send(Requests.post(path, Requests.bytes(body, new byte[0]), ""))
          .onlyReply();
    }
  }

  @Test
  void metadata_namesWhatClientsLookFor() {
    Reply server = get("/v2");
    assertEquals(200, server.status());
    assertEquals("application/json", server.header("content-type"));
    assertTrue(server.text().startsWith("{\"name\":\"pipelane\",\"version\":\""), server.text());
    assertTrue(
        server
            .text()
            .endsWith(
                "[\"binary_tensor_data\",\"model_configuration\",\"model_repository\","
                    + "\"model_repository(unload_dependents)\",\"schedule_policy\","
                    + "\"statistics\",\"trace\",\"logging\"]}"));
    assertEquals(server.text(), get("/v2/?x=y").text());
    assertEquals(
        "{\"name\":\"echo\",\"versions\":[\"1\",\"2\"],\"platform\":\"onnxruntime_onnx\","
            + "\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[-1,4]}],"
            + "\"outputs\":[{\"name\":\"y_x\",\"datatype\":\"FP32\",\"shape\":[-1,4]}]}",
        get("/v2/models/echo").text());
    assertEquals(200, get("/v2/models/echo/versions/1").status());
    assertEquals(404, get("/v2/models/echo/versions/7").status());
  }

  @Test
  void versionThatLeavesAsItIsAsked_isFollowedByTheNext() {
    byte[] named = Requests.infer("echo/versions/2", ECHO);
    assertFollowed(ECHO);
    FakeCatalog fresh = FakeCatalog.usual();
    try (Conversation conversation = new Conversation(fresh, EchoService.without(fresh, 2))) {
      assertEquals(404, conversation.send(named).onlyReply().status());
    }
  }

  /** The version that answers alone counts the request. */
  private static void assertFollowed(String body) {
    FakeCatalog catalog = FakeCatalog.usual();
    InferenceStatistics statistics = new InferenceStatistics();
    try (Conversation conversation =
        new Conversation(
            Backends.of(catalog, EchoService.without(catalog, 2), statistics), Runnable::run)) {
      Reply reply = conversation.send(Requests.infer("echo", body)).onlyReply();
      assertEquals(200, reply.status(), reply.text());
      assertTrue(reply.text().contains("\"model_version\":\"1\""), reply.text());
    }
    ModelCounters left = statistics.of(new ModelVersion("echo", 2));
    assertEquals(0, left.failure().count());
    assertEquals(0, left.pending());
    assertEquals(1, statistics.of(new ModelVersion("echo", 1)).success().count());
  }

  @Test
  void versionThatLeavesWhileALargeBodyIsDecoded_isFollowedByTheNext() {
    String large = ECHO + " ".repeat(CodecThreads.LARGEST_ON_LOOP);
    assertFollowed(large);
    FakeCatalog fresh = FakeCatalog.usual();
    try (Conversation conversation = new Conversation(fresh, EchoService.without(fresh, 2))) {
      byte[] named = Requests.infer("echo/versions/2", large);
      assertEquals(404, conversation.send(named).onlyReply().status());
    }
  }

  @Test
  void statistics_countRows() {
    String three =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[3,4],\"datatype\":\"FP32\","
            + "\"data\":[1,2,3,4,5,6,7,8,9,10,11,12]}]}";
    try (Conversation conversation = Conversation.usual()) {
      conversation.send(Requests.infer("echo", three)).send(Requests.get("/v2/models/echo/stats"));
      String echo = conversation.replies().getLast().text();
      assertTrue(echo.contains("\"inference_count\":3,\"execution_count\":1"), echo);
      assertTrue(echo.contains("\"batch_stats\":[{\"batch_size\":3,\"compute_input\""), echo);
      assertTrue(echo.contains("\"success\":{\"count\":1,"), echo);
    }
  }

  @Test
  void statistics_areThoseOfTritonsExtension() {
    try (Conversation conversation = Conversation.usual()) {
      byte[] infer = Requests.infer("echo", ECHO);
      conversation.send(infer).send(infer).send(Requests.infer("echo", "{}"));
      conversation.send(Requests.get("/v2/models/echo/stats"));
      conversation.send(Requests.get("/v2/models/stats"));
      conversation.send(Requests.get("/v2/models/pair/versions/2/stats"));
      conversation.send(Requests.get("/v2/models/nobody/stats"));
      List<Reply> replies = conversation.replies();
      assertEquals("1", replies.getFirst().header("pipelane-stall-us"));
      String echo = replies.get(3).text();
      assertTrue(echo.contains("\"inference_count\":2,\"execution_count\":2"), echo);
      assertTrue(echo.contains("\"queue\":{\"count\":2,\"ns\":2}"), echo);
      assertTrue(echo.contains("\"compute_infer\":{\"count\":2,\"ns\":6}"), echo);
      assertTrue(echo.contains("\"fail\":{\"count\":1,"), echo);
      assertEquals(echo, replies.get(4).text());
      assertTrue(replies.get(5).text().contains("\"inference_count\":0"));
      assertEquals(404, replies.get(6).status());
    }
  }

  @Test
  void metrics_areTextForPrometheus() {
    Reply metrics = get("/metrics");
    assertEquals(200, metrics.status());
    assertEquals("text/plain; version=0.0.4; charset=utf-8", metrics.header("content-type"));
    assertTrue(metrics.text().contains("pipelane_workers_started_total 0.0"), metrics.text());
    assertEquals(404, get("/metrics/x").status());
  }

  @Test
  void live_holdsWhateverTheCatalogueSays() {
    catalog.ready = false;
    assertEquals(200, get("/v2/health/live").status());
    assertEquals(503, get("/v2/health/ready").status());
    assertEquals("{\"ready\":false}", get("/v2/health/ready").text());
    catalog.ready = true;
    assertEquals("{\"ready\":true}", get("/v2/health/ready").text());
  }

  @Test
  void ready_whileDraining_isNo() {
    try (Conversation conversation = new Conversation(catalog, EchoService.inline())) {
      assertTrue(conversation.activity.drain().isDone());
      assertEquals(503, conversation.send(Requests.get("/v2/health/ready")).onlyReply().status());
    }
  }

  /** Neither counts as a request, so that what asks for them keeps no model from giving way. */
  @Test
  void healthAndScrapes_areNoUseOfAModel() {
    InferenceStatistics statistics = new InferenceStatistics();
    InferenceService unused =
        (request, _) -> {
          throw new AssertionError("asked for an inference: " + request);
        };
    Backend backend = Backends.of(FakeCatalog.usual(), unused, statistics);
    for (String path :
        List.of(
            "/v2/health/live",
            "/v2/health/ready",
            "/v2/models/echo/ready",
            "/v2/models/echo",
            "/metrics")) {
      try (Conversation conversation = new Conversation(backend, Runnable::run)) {
        assertEquals(200, conversation.send(Requests.get(path)).onlyReply().status(), path);
      }
    }
    assertFalse(statistics.of(new ModelVersion("echo", 2)).hasBeenAsked());
  }

  @Test
  void modelReady_followsTheCatalogue() {
    assertEquals("{\"name\":\"echo\",\"ready\":true}", get("/v2/models/echo/ready").text());
    assertEquals(200, get("/v2/models/echo/versions/2/ready").status());
    assertEquals(404, get("/v2/models/none/ready").status());
    assertEquals("{\"error\":\"model \\\"none\\\" is unknown\"}", get("/v2/models/none").text());
    Reply importing = get("/v2/models/importing/ready");
    assertEquals(503, importing.status());
    assertEquals("2", importing.header("retry-after"));
    assertEquals(500, get("/v2/models/faulty").status());
  }

  @Test
  void wrongMethod_isToldTheRightOne() {
    Reply reply = get("/v2/models/echo/infer");
    assertEquals(405, reply.status());
    assertEquals("POST", reply.header("allow"));
    assertEquals("{\"error\":\"Method Not Allowed; use POST\"}", reply.text());
    assertEquals("GET, HEAD", post("/v2/health/live", "").header("allow"));
    assertEquals(405, ask(Requests.head("DELETE /v2/models/echo", "")).status());
  }

  @Test
  void jobs_withoutAFolder_areNotServed() {
    assertEquals(501, get("/v2/jobs").status());
    assertEquals(501, post("/v2/jobs", "{}").status());
    assertEquals(501, ask(Requests.head("DELETE /v2/jobs/a", "")).status());
    assertEquals("GET, HEAD, DELETE", post("/v2/jobs/a", "").header("allow"));
    Reply listing = ask(Requests.head("DELETE /v2/jobs", ""));
    assertEquals(405, listing.status());
    assertEquals("GET, HEAD, POST", listing.header("allow"));
    assertEquals(404, get("/v2/jobs/a/b").status());
  }

  @Test
  void unknownPaths_areNotFound() {
    List<String> paths =
        List.of(
            "/v1",
            "/v2/health",
            "/v2/health/live/",
            "/v2/models",
            "/v2/models/echo/version/1",
            "/v2/models/echo/versions/1/infer/x",
            "/v2/repository",
            "/v2/repository/models/a",
            "/v2/repository/models/a/drop",
            "//v2",
            "*",
            "ftp://h/v2",
            "/v2/models/a/b/c/d");
    for (String path : paths) {
      assertEquals(404, get(path).status(), path);
    }
  }

  @Test
  void names_areDecodedAndDangerousOnesRefused() {
    assertEquals(200, get("/v2/models/%65cho").status());
    assertTrue(get("/v2/models/caf%C3%A9").text().contains("caf\u00e9"));
    for (String name :
        List.of("..", "%2e%2e", ".", "a%2Fb", "", "%", "%4", "%zz", "%ff", "a%00", "%5c")) {
      assertEquals(400, get("/v2/models/" + name).status(), name);
    }
    assertEquals(400, get("/v2/models/" + "x".repeat(256)).status());
  }

  @Test
  void index_listsStatesAndReasons() {
    String echo = "{\"name\":\"echo\",\"version\":\"2\",\"state\":\"READY\",\"reason\":\"\"}";
    String broken =
        "{\"name\":\"broken\",\"version\":\"1\",\"state\":\"UNAVAILABLE\","
            + "\"reason\":\"corrupt \\\"file\\\"\"}";
    assertEquals("[" + echo + "," + broken + "]", post("/v2/repository/index", "").text());
    assertEquals("[" + echo + "]", post("/v2/repository/index", "{\"ready\":true}").text());
    assertEquals(400, post("/v2/repository/index", "{\"ready\":1}").status());
    assertEquals(400, post("/v2/repository/index", "[]").status());
  }

  @Test
  void load_answersWhenTheCatalogueIsDone() {
    try (Conversation conversation = new Conversation(catalog, EchoService.inline())) {
      conversation.send(Requests.post("/v2/repository/models/a/load", new byte[0], ""));
      assertEquals(0, conversation.received().length);
      catalog.loading.complete(null);
      assertEquals(200, conversation.onlyReply().status());
      assertEquals("", conversation.onlyReply().text());
      assertEquals(List.of("load a"), catalog.calls);
    }
  }

  @Test
  void unload_passesOnWhatFailed() {
    Reply reply = post("/v2/repository/models/a/unload", "{\"parameters\":{\"x\":true}}");
    assertEquals(404, reply.status());
    assertEquals("{\"error\":\"model \\\"a\\\" is unknown\"}", reply.text());
  }

  @Test
  void load_withDeadline_passesItOn() {
    catalog.loading.complete(null);
    String body = "{\"parameters\":{\"deadline\":250000}}";
    assertEquals(200, post("/v2/repository/models/a/load", body).status());
    assertEquals(List.of("load a within PT0.25S"), catalog.calls);
  }

  @Test
  void load_withDeadlineThatIsNone_namesWhatIsExpected() {
    for (String wrong : List.of("-1", "\"soon\"", "1e400", "86400000001", "99999999999999999999")) {
      Reply reply =
          post("/v2/repository/models/a/load", "{\"parameters\":{\"deadline\":" + wrong + "}}");
      assertEquals(400, reply.status(), wrong);
      assertTrue(reply.text().contains("parameters.deadline"), reply.text());
    }
  }

  @Test
  void load_withConfiguration_passesItOn() {
    catalog.loading.complete(null);
    String body = "{\"parameters\":{\"config\":\"{\\\"max_batch_size\\\": 8}\"}}";
    assertEquals(200, post("/v2/repository/models/a/load", body).status());
    assertEquals(List.of("load a as {\"max_batch_size\": 8}"), catalog.calls);
    Reply wrong = post("/v2/repository/models/a/load", "{\"parameters\":{\"config\":{}}}");
    assertEquals(400, wrong.status());
    assertTrue(wrong.text().contains("parameters.config"), wrong.text());
  }

  @Test
  void load_withFiles_passesThemOn() {
    catalog.loading.complete(null);
    String file = "\"file:1/model.onnx\":\"AAECAw==\"";
    String body = "{\"parameters\":{\"config\":\"{}\"," + file + "}}";
    assertEquals(200, post("/v2/repository/models/a/load", body).status());
    assertEquals(List.of("load a as {} with 1/model.onnx 4"), catalog.calls);
    Reply alone = post("/v2/repository/models/a/load", "{\"parameters\":{" + file + "}}");
    assertEquals(400, alone.status());
    assertTrue(alone.text().contains("config"), alone.text());
    assertRefusedFile("parameters.file:1/m must be a file in base 64, not 7", "7");
    assertRefusedFile("parameters.file:1/m must be a file in base 64, not an object", "{}");
    String text = "parameters.file:1/m must be a file in base 64 (A-Z, a-z, 0-9, + and /, padded";
    assertRefusedFile(text + " with =): Illegal character '*' (code 0x2a)", "\"AAEC*\"");
    assertRefusedFile(text + " with =): Illegal character '-' (code 0x2d)", "\"AA-_\"");
    assertRefusedFile(text + " with =): Unexpected end of base64-encoded String", "\"AAE\"");
  }

  private void assertRefusedFile(String message, String value) {
    String body = "{\"parameters\":{\"config\":\"{}\",\"file:1/m\":" + value + "}}";
    Reply reply = post("/v2/repository/models/a/load", body);
    assertEquals(400, reply.status());
    assertTrue(reply.text().contains(message), reply.text());
    assertFalse(reply.text().contains("Base64Variant"), reply.text());
  }

  @Test
  void everyStatus_hasAnHttpStatus() {
    for (Status status : Status.values()) {
      int code = HttpStatusMapping.of(new StatusException(status, "x").status()).code();
      assertTrue(code >= 400 && code < 600, status + " " + code);
    }
  }
}
