package io.pipelane.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.handler.codec.http.HttpMethod;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.lanes.process.WorkersOverview.BuiltModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.RepositoryWriter;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Keys;
import io.pipelane.server.access.ManagementLog;
import io.pipelane.server.access.TestTokens;
import io.pipelane.server.net.Backends;
import io.pipelane.server.net.CapturedLog;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each route, asked with each role's key and with none. */
class AccessMatrixTest {
  private static final List<String> KEYS = List.of("infer", "manage", "observe");

  /** Method, path, and whose keys let in. */
  private static final List<String> TABLE =
      List.of(
          "GET, /v2/health/live, infer manage observe nobody",
          "GET, /v2/health/ready, infer manage observe nobody",
          "GET, /, infer manage observe nobody",
          "GET, /page/main.js, infer manage observe nobody",
          "GET, /v2, infer manage observe",
          "GET, /v2/models/echo, infer manage observe",
          "GET, /v2/models/echo/versions/1, infer manage observe",
          "GET, /v2/models/echo/ready, infer manage observe",
          "GET, /v2/models/echo/config, infer manage observe",
          "POST, /v2/models/echo/infer, infer",
          "POST, /v2/models/echo/versions/2/infer, infer",
          "GET, /v2/models/stats, observe",
          "GET, /v2/models/echo/stats, observe",
          "GET, /metrics, observe",
          "GET, /v2/pipelane/state, observe",
          "GET, /v2/pipelane/events, observe",
          "GET, /v2/pipelane/changes, observe",
          "GET, /v2/pipelane/samples, observe",
          "GET, /v2/workers, observe",
          "GET, /v2/hosts, observe",
          "POST, /v2/repository/index, manage observe",
          "POST, /v2/repository/models/echo/load, manage",
          "POST, /v2/repository/models/echo/unload, manage",
          "GET, /v2/repository/models/echo/versions, manage observe",
          "POST, /v2/repository/models/echo/versions, manage",
          "GET, /v2/repository/models/echo/options, manage observe",
          "PUT, /v2/repository/models/echo/options, manage",
          "GET, /v2/repository/models/echo/versions/2, manage observe",
          "PUT, /v2/repository/models/echo/versions/3, manage",
          "DELETE, /v2/repository/models/echo/versions/3, manage",
          "GET, /v2/trace/setting, manage observe",
          "GET, /v2/models/echo/trace/setting, manage observe",
          "POST, /v2/trace/setting, manage",
          "POST, /v2/models/echo/trace/setting, manage",
          "GET, /v2/systemsharedmemory/status, manage observe",
          "GET, /v2/systemsharedmemory/region/r/status, manage observe",
          "POST, /v2/systemsharedmemory/region/r/register, manage",
          "POST, /v2/systemsharedmemory/unregister, manage",
          "POST, /v2/cudasharedmemory/unregister, manage",
          "GET, /v2/logging, manage observe",
          "POST, /v2/logging, manage",
          "GET, /v2/jobs, infer observe",
          "POST, /v2/jobs, infer",
          "GET, /v2/jobs/j, infer observe",
          "DELETE, /v2/jobs/j, infer",
          "POST, /v2/workers/1/recycle, manage");

  private static final String INFER =
      "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,4],\"datatype\":\"FP32\",\"data\":[1,2,3,4]}]}";

  @TempDir Path folder;

  private static Reply ask(AccessControl access, String method, String path, String fields) {
    String body = path.endsWith("/infer") ? INFER : "";
    try (Conversation conversation =
        new Conversation(
            Backends.of(FakeCatalog.usual(), EchoService.inline(), access), Runnable::run)) {
      conversation.send(
          "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n%s\r\n%s"
              .formatted(method, path, body.length(), fields, body));
      boolean isStream = path.endsWith("/events") || path.endsWith("/changes");
      List<Reply> replies = isStream ? List.of(head(conversation)) : conversation.replies();
      return replies.isEmpty() ? new Reply(202, Map.of(), new byte[0]) : replies.getFirst();
    }
  }

  /** An answer that may have no end. */
  private static Reply head(Conversation conversation) {
    String text = new String(conversation.received(), StandardCharsets.UTF_8);
    return text.contains("\r\nContent-Length: ")
        ? conversation.onlyReply()
        : new Reply(Integer.parseInt(text.substring(9, 12)), Map.of(), new byte[0]);
  }

  private static String bearer(String key) {
    return "Authorization: Bearer " + key + "\r\n";
  }

  @Test
  void table_hasEveryRoute() {
    Set<Class<?>> routes = RouteKinds.all();
    for (String row : TABLE) {
      String[] parts = row.split(", ", -1);
      ResourcePaths.find(parts[1])
          .route(HttpMethod.valueOf(parts[0]))
          .ifPresent(route -> routes.remove(route.getClass()));
    }
    assertEquals(Set.of(), routes);
  }

  static List<String> table() {
    return TABLE;
  }

  @ParameterizedTest
  @MethodSource("table")
  void route_letsInWhoMay(String row) throws IOException {
    String[] parts = row.split(", ", -1);
    String method = parts[0];
    String path = parts[1];
    Set<String> welcome = Set.of(parts[2].split(" ", -1));
    try (AccessControl access = Keys.of(folder, Keys.usual())) {
      for (String key : KEYS) {
        int status = ask(access, method, path, bearer(key)).status();
        assertEquals(welcome.contains(key), status != 403 && status != 401, key + ": " + status);
      }
      boolean open = welcome.contains("nobody");
      Reply without = ask(access, method, path, "");
      assertEquals(open, without.status() != 401, "nobody: " + without.status());
      assertEquals(open ? "" : "Bearer realm=\"pipelane\"", without.header("www-authenticate"));
      Reply stranger = ask(access, method, path, bearer("stranger"));
      assertEquals(open, stranger.status() != 401);
      assertFalse(stranger.text().contains("stranger"));
    }
  }

  @ParameterizedTest
  @MethodSource("table")
  void route_letsInTokensOfTheSameRoles(String row) throws IOException {
    String[] parts = row.split(", ", -1);
    Set<String> welcome = Set.of(parts[2].split(" ", -1));
    boolean open = welcome.contains("nobody");
    try (AccessControl access = TestTokens.access(folder)) {
      for (String role : KEYS) {
        int status = ask(access, parts[0], parts[1], bearer(TestTokens.of(role))).status();
        assertEquals(welcome.contains(role), status != 403 && status != 401, role + ": " + status);
      }
      Reply roleless = ask(access, parts[0], parts[1], bearer(TestTokens.of()));
      assertEquals(open, roleless.status() != 403, "without a role: " + roleless.status());
      Reply broken = ask(access, parts[0], parts[1], bearer(TestTokens.of("manage") + "x"));
      assertEquals(open, broken.status() != 401, "wrongly signed: " + broken.status());
    }
  }

  @Test
  void changes_areLoggedWithWhoAskedForThem() throws IOException {
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.unloads = true;
    catalog.loading.complete(null);
    try (AccessControl access = Keys.of(folder, Keys.usual());
        CapturedLog log = new CapturedLog();
        Conversation conversation =
            new Conversation(Backends.of(catalog, EchoService.inline(), access), Runnable::run)) {
      for (String path :
          List.of(
              "/v2/repository/models/pair/load",
              "/v2/repository/models/pair/unload",
              "/v2/repository/models/pair/versions",
              "/v2/models/pair/trace/setting")) {
        for (String key : List.of("tenant", "observe")) {
          conversation.send(
              "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n%s\r\n{}"
                  .formatted(path, bearer(key)));
          int _ = conversation.replies().size();
        }
      }
      assertEquals(
          List.of(
              "pair is loaded, by key \"tenant\"",
              "pair has left service, by key \"tenant\"",
              "the versions and labels of pair are chosen, by key \"tenant\"",
              "the trace settings of pair are changed, by key \"tenant\""),
          log.texts(ManagementLog.class));
    }
  }

  @Test
  void modelsOfOthers_areNeitherAskedNorSeen() throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual())) {
      String tenant = "X-API-Key: tenant\r\n";
      assertEquals(200, ask(access, "GET", "/v2/models/pair", tenant).status());
      assertEquals(200, ask(access, "GET", "/v2/models/cube/ready", tenant).status());
      for (String path : List.of("", "/ready", "/stats")) {
        assertEquals(403, ask(access, "GET", "/v2/models/echo" + path, tenant).status());
      }
      assertEquals(403, ask(access, "POST", "/v2/models/echo/infer", tenant).status());
      assertEquals(403, ask(access, "POST", "/v2/repository/models/echo/load", tenant).status());
      assertEquals(403, ask(access, "GET", "/metrics", tenant).status());
      assertEquals(403, ask(access, "POST", "/v2/jobs", tenant).status());
      assertEquals("[]", ask(access, "POST", "/v2/repository/index", tenant).text());
      String state = ask(access, "GET", "/v2/pipelane/state", tenant).text();
      assertTrue(state.contains("\"models\":[]"), state);
    }
  }

  /**
   * It would be a way around the keys: whoever may ask an ensemble need not be let ask its models.
   */
  @Test
  @Timeout(60)
  void modelsOfOthers_areNotMadePartsOfAnEnsemble() throws IOException {
    FakeCatalog catalog = FakeCatalog.usual();
    catalog.writer = new RepositoryWriter(folder, new ByteSize(1 << 20), new Random(7));
    try (AccessControl access = Keys.of(folder, Keys.usual());
        Conversation conversation =
            new Conversation(Backends.of(catalog, EchoService.inline(), access), Runnable::run)) {
      List<Reply> answers = List.of();
      for (String model : List.of("pair", "echo")) {
        String ensemble =
            "ensemble: {steps: [{model: %s, inputs: {x: x}, outputs: {y: y}}]}".formatted(model);
        String head =
            Requests.head(
                "PUT /v2/repository/models/cube/options",
                "Content-Length: %d\r\n%s".formatted(ensemble.length(), bearer("tenant")));
        conversation.send(head + ensemble);
        int answered = answers.size();
        while (answers.size() == answered) { // Files are written on another thread.
          answers = conversation.replies();
          Thread.onSpinWait();
        }
      }
      assertEquals(List.of(200, 403), answers.stream().map(Reply::status).toList());
      assertTrue(answers.getLast().text().contains("echo"), answers.getLast().text());
      assertTrue(Files.readString(folder.resolve("cube/pipelane.yaml")).contains("pair"));
    }
  }

  @Test
  void builtModelsOfOthers_areCountedButNotNamed() throws IOException {
    EchoService service = EchoService.inline();
    service.workers =
        new WorkersOverview(
            List.of(
                new WorkersOverview.Entry(
                    1,
                    4711,
                    WorkerState.ACTIVE,
                    2,
                    List.of(
                        new BuiltModel(new ModelVersion("echo", 2), 1),
                        new BuiltModel(new ModelVersion("pair", 2), 1)),
                    0,
                    1,
                    "cpu",
                    9,
                    1)),
            2,
            1,
            "killed by echo",
            1);
    try (AccessControl access = Keys.of(folder, Keys.usual())) {
      String seen = ask(service, access, "/v2/workers", bearer("tenant")).text();
      assertFalse(seen.contains("echo"), seen);
      assertTrue(seen.contains("\"name\":\"pair\""), seen);
      assertTrue(seen.contains("\"more_models\":1"), seen);
      String all = ask(service, access, "/v2/workers", bearer("observe")).text();
      assertTrue(all.contains("\"name\":\"echo\""), all);
      assertTrue(all.contains("killed by echo"), all);
    }
  }

  private static Reply ask(EchoService service, AccessControl access, String path, String fields) {
    try (Conversation conversation =
        new Conversation(Backends.of(FakeCatalog.usual(), service, access), Runnable::run)) {
      return conversation.send(Requests.head("GET " + path, fields)).onlyReply();
    }
  }

  @Test
  void keyThatHasAskedTooMuch_isToldWhen() throws IOException {
    String entry = Keys.entry("slow", "roles: [infer], requests-per-second: 0.001, burst: 1");
    try (AccessControl access = Keys.of(folder, entry)) {
      assertEquals(200, ask(access, "GET", "/v2/models/echo", bearer("slow")).status());
      Reply refused = ask(access, "GET", "/v2/models/echo", bearer("slow"));
      assertEquals(429, refused.status());
      assertTrue(Integer.parseInt(refused.header("retry-after")) > 900);
      assertEquals(200, ask(access, "GET", "/v2/health/live", bearer("slow")).status());
    }
  }

  @Test
  void requestsUnderWay_countUntilTheyAreAnswered() throws IOException {
    String entry = Keys.entry("one", "roles: [infer], concurrent-requests: 1");
    EchoService service = EchoService.holding();
    try (AccessControl access = Keys.of(folder, entry);
        Conversation conversation =
            new Conversation(Backends.of(FakeCatalog.usual(), service, access), Runnable::run)) {
      String infer =
          "POST /v2/models/echo/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n%s\r\n%s"
              .formatted(INFER.length(), bearer("one"), INFER);
      conversation.send(infer).send(infer);
      service.pending.getFirst().complete();
      assertEquals(List.of(200, 429), conversation.replies().stream().map(Reply::status).toList());
      conversation.send(infer);
      service.pending.getLast().complete();
      assertEquals(200, conversation.replies().getLast().status());
    }
  }

  @Test
  void refusal_comesBeforeTheBody() throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual());
        Conversation conversation =
            new Conversation(
                Backends.of(FakeCatalog.usual(), EchoService.inline(), access), Runnable::run)) {
      conversation.send(
          Requests.head(
              "POST /v2/models/m/infer", "Content-Length: 900000\r\nExpect: 100-continue\r\n"));
      assertEquals(401, conversation.onlyReply().status());
      assertFalse(conversation.channel.isActive());
    }
  }

  @Test
  void managementWithAPortOfItsOwn_isNotServedAtTheOther() throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual(), OptionalInt.of(0))) {
      Reply load = ask(access, "POST", "/v2/repository/models/echo/load", bearer("manage"));
      assertEquals(404, load.status());
      assertTrue(load.text().contains("security.management-port"), load.text());
      assertEquals(200, ask(access, "POST", "/v2/repository/index", bearer("manage")).status());
    }
  }
}
