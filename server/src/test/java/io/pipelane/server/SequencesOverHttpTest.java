package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.SequenceState;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Sequences as clients have them, of a model whose n-th step answers n times the first. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SequencesOverHttpTest {
  private static final String START = ",\"sequence_start\":true";
  private static final String END = ",\"sequence_end\":true";
  private static final int MOST_WAITING = 64;
  private static final int MOST_SEQUENCES = 1024;

  @TempDir private static Path folder = Path.of("");

  private static OwnedRepository owned;
  private static PipelaneServer server;
  private static HttpClient http;
  private static double once;

  SequencesOverHttpTest() {}

  @BeforeAll
  static void start() throws Exception {
    owned = new OwnedRepository(folder);
    TestModels.write(TestModels.recurrent(OwnedRepository.WIDTH), owned.path("sum/1/model.onnx"));
    owned.text("sum/pipelane.yaml", "state: {t: s}\n");
    server = owned.start();
    http = HttpClient.newBuilder().version(Version.HTTP_1_1).build();
    once = number(send("once", START + END).body());
  }

  @AfterAll
  static void close() {
    http.close();
    server.close();
    owned.close();
  }

  private static String body(String id, String more) {
    String parameters = "{\"parameters\":{\"sequence_id\":\"%s\"%s},".formatted(id, more);
    return parameters + OwnedRepository.REQUEST.substring(1);
  }

  private static HttpRequest request(String body) {
    return HttpRequest.newBuilder(URI.create(server.url() + "/v2/models/sum/infer"))
        .POST(BodyPublishers.ofString(body))
        .build();
  }

  private static HttpResponse<String> send(String id, String more) throws Exception {
    return http.send(request(body(id, more)), BodyHandlers.ofString());
  }

  private static HttpResponse<String> post(String path, String body) throws Exception {
    return http.send(
        HttpRequest.newBuilder(URI.create(server.url() + path))
            .POST(BodyPublishers.ofString(body))
            .build(),
        BodyHandlers.ofString());
  }

  @Test
  void sequence_staysWithItsVersionWhileThatIsInService() throws Exception {
    String infer = "/v2/models/rolled/infer";
    String load = "/v2/repository/models/rolled/load";
    TestModels.write(
        TestModels.recurrent(OwnedRepository.WIDTH), owned.path("rolled/1/model.onnx"));
    owned.text("rolled/pipelane.yaml", "state: {t: s}\n");
    assertEquals(200, post(load, "").statusCode());
    assertEquals(1, steps(post(infer, body("r", START))));
    TestModels.write(
        TestModels.recurrent(OwnedRepository.WIDTH), owned.path("rolled/2/model.onnx"));
    assertEquals(200, post(load, "").statusCode());
    HttpResponse<String> second = post(infer, body("r", ""));
    assertEquals(2, steps(second));
    assertTrue(second.body().contains("\"model_version\":\"1\""), second.body());
    checkRefused(
        400,
        "one of rolled/1, not of rolled/2",
        post("/v2/models/rolled/versions/2/infer", body("r", "")));
    HttpResponse<String> other = post(infer, body("s", START));
    assertTrue(other.body().contains("\"model_version\":\"2\""), other.body());
    assertEquals(2, steps(post(infer, body("s", END))));
    assertEquals(
        200, post("/v2/repository/models/rolled/versions", "{\"serve\":\"2\"}").statusCode());
    checkRefused(400, "with its version's content", post(infer, body("r", "")));
    assertEquals(200, post("/v2/repository/models/rolled/unload", "").statusCode());
    awaitSequences(0);
  }

  @Test
  void sequence_goesOnWithItsContentWhereThatIsReplaced() throws Exception {
    String infer = "/v2/models/replaced/infer";
    String load = "/v2/repository/models/replaced/load";
    owned.text("replaced/pipelane.yaml", "state: {t: s}\n");
    owned.text(
        "stateful/pipelane.yaml",
        """
        ensemble:
          steps:
            - {model: replaced, inputs: {x: x}, outputs: {y: y}}
        """);
    content(1);
    assertEquals(200, post(load, "").statusCode());
    assertEquals(200, post("/v2/repository/models/stateful/load", "").statusCode());
    assertEquals(1, steps(post(infer, body("r", START))));
    assertEquals(1, steps(post("/v2/models/stateful/infer", body("e", START))));
    content(2);
    assertEquals(200, post(load, "").statusCode());
    assertEquals(2, steps(post(infer, body("r", ""))));
    assertEquals(3, steps(post("/v2/models/replaced/versions/1/infer", body("r", ""))));
    assertEquals(2, steps(post("/v2/models/stateful/infer", body("e", END))));
    double next = number(post(infer, body("s", START)).body());
    assertTrue(Math.abs(next - once) > 0.01, "it began with the next content");
    assertEquals(2 * next, number(post(infer, body("s", END)).body()), 0.01);
    checkRefused(400, "begin it with sequence_start", post(infer, body("never", "")));
    content(3);
    assertEquals(200, post(load, "").statusCode());
    checkRefused(400, "with its version's content", post(infer, body("r", "")));
    assertEquals(200, post("/v2/repository/models/stateful/unload", "").statusCode());
    assertEquals(200, post("/v2/repository/models/replaced/unload", "").statusCode());
    awaitSequences(0);
  }

  @Test
  void sequence_ofAnEnsemble_staysWithTheVersionOfItsModel() throws Exception {
    String infer = "/v2/models/chain/infer";
    String load = "/v2/repository/models/%s/load";
    owned.text("chained/pipelane.yaml", "state: {t: s}\n");
    owned.text(
        "chain/pipelane.yaml",
        "ensemble:\n  steps:\n    - {model: chained, inputs: {x: x}, outputs: {y: y}}\n");
    content("chained", 1);
    assertEquals(200, post(load.formatted("chained"), "").statusCode());
    assertEquals(200, post(load.formatted("chain"), "").statusCode());
    assertEquals(1, steps(post(infer, body("r", START))));
    TestModels.write(
        TestModels.recurrent(OwnedRepository.WIDTH, 2), owned.path("chained/2/model.onnx"));
    assertEquals(200, post(load.formatted("chained"), "").statusCode());
    assertEquals(2, steps(post(infer, body("r", ""))));
    double next = number(post(infer, body("s", START + END)).body());
    assertTrue(Math.abs(next - once) > 0.01, "it began with the next version");
    assertEquals(3, steps(post(infer, body("r", END))));
    checkRefused(400, "begin it with sequence_start", post(infer, body("r", "")));
    for (String name : List.of("chain", "chained")) {
      String unload = "/v2/repository/models/" + name + "/unload";
      assertEquals(200, post(unload, "").statusCode());
    }
    awaitSequences(0);
  }

  @Test
  void sequence_ofAnEnsemble_isNoneOfItsModelsNorOfOtherEnsembles() throws Exception {
    String infer = "/v2/models/%s/infer";
    for (String name : List.of("one", "other")) {
      owned.text(
          name + "/pipelane.yaml",
          "ensemble:\n  steps:\n    - {model: sum, inputs: {x: x}, outputs: {y: y}}\n");
      assertEquals(200, post("/v2/repository/models/" + name + "/load", "").statusCode());
    }
    for (String name : List.of("sum", "one", "other")) {
      assertEquals(1, steps(post(infer.formatted(name), body("n", START))));
    }
    assertEquals(2, steps(post(infer.formatted("sum"), body("n", ""))));
    assertEquals(2, steps(post(infer.formatted("one"), body("n", ""))));
    assertEquals(3, steps(post(infer.formatted("one"), body("n", END))));
    assertEquals(2, steps(post(infer.formatted("other"), body("n", END))));
    assertEquals(3, steps(post(infer.formatted("sum"), body("n", END))));
    HttpResponse<String> gone = post(infer.formatted("one"), body("n", ""));
    assertEquals(400, gone.statusCode());
    assertTrue(gone.body().contains("\\\"n\\\""), gone.body());
    awaitSequences(0);
    for (String name : List.of("one", "other")) {
      assertEquals(200, post("/v2/repository/models/" + name + "/unload", "").statusCode());
    }
  }

  @Test
  void sequence_goesOnWhereTheNextContentFailsToWarmUp() throws Exception {
    String infer = "/v2/models/cold/infer";
    String load = "/v2/repository/models/cold/load";
    owned.text("cold/pipelane.yaml", "state: {t: s}\n");
    content("cold", 1);
    assertEquals(200, post(load, "").statusCode());
    assertEquals(1, steps(post(infer, body("c", START))));
    content("cold", 2);
    owned.text(
        "cold/pipelane.yaml",
        """
        state: {t: s}
        warm-up: [{name: other, inputs: {x: {shape: [1, 31], data: zero}}}]
        """);
    checkRefused(400, "failed: input", post(load, ""));
    assertEquals(2, steps(post(infer, body("c", ""))));
    assertEquals(1, steps(post(infer, body("d", START + END))));
    owned.text("cold/pipelane.yaml", "state: {t: s}\n");
    content("cold", 1);
    assertEquals(200, post(load, "").statusCode());
    assertEquals(3, steps(post(infer, body("c", END))));
    assertEquals(200, post("/v2/repository/models/cold/unload", "").statusCode());
    awaitSequences(0);
  }

  @Test
  void sequenceThatBeginsWithTheNextContent_isNotGoneOnWithInTheOneBefore() throws Exception {
    String infer = "/v2/models/anew/infer";
    String load = "/v2/repository/models/anew/load";
    owned.text("anew/pipelane.yaml", "state: {t: s}\n");
    content("anew", 1);
    assertEquals(200, post(load, "").statusCode());
    for (String id : List.of("ended", "failed", "kept")) {
      assertEquals(1, steps(post(infer, body(id, START))));
    }
    content("anew", 2);
    assertEquals(200, post(load, "").statusCode());
    assertEquals(200, post(infer, body("ended", START + END)).statusCode());
    checkRefused(400, "begin it with sequence_start", post(infer, body("ended", "")));
    String timeless = body("failed", START + ",\"timeout\":1");
    checkRefused(503, "the timeout of this request", post(infer, timeless));
    checkRefused(400, "begin it with sequence_start", post(infer, body("failed", "")));
    assertEquals(2, steps(post(infer, body("kept", END))));
    assertEquals(200, post("/v2/repository/models/anew/unload", "").statusCode());
    awaitSequences(0);
  }

  private static void content(long seed) throws IOException {
    content("replaced", seed);
  }

  private static void content(String model, long seed) throws IOException {
    TestModels.write(
        TestModels.recurrent(OwnedRepository.WIDTH, seed), owned.path(model + "/1/model.onnx"));
  }

  private static void awaitSequences(int count) {
    while (server.switcher().states().sequences() != count) {
      Thread.onSpinWait();
    }
  }

  /** The first number of an answer. */
  private static double number(String answer) {
    String data = OwnedRepository.data(answer);
    return Double.parseDouble(data.substring(data.indexOf('[') + 1, data.indexOf(',')));
  }

  /** How many steps have led to an answer. */
  private static long steps(HttpResponse<String> response) {
    assertEquals(200, response.statusCode(), response.body());
    return Math.round(number(response.body()) / once);
  }

  private static void checkRefused(int status, String reason, HttpResponse<String> response) {
    assertEquals(status, response.statusCode(), response.body());
    assertTrue(response.body().contains(reason), response.body());
    assertEquals(status == 503, response.headers().firstValue("retry-after").isPresent());
  }

  /** Has the steps of a sequence that come from now on wait until it is closed. */
  private static final class Held implements AutoCloseable {
    private final CompletableFuture<Void> over = new CompletableFuture<>();
    private final Thread reader;

    Held(String id) {
      ModelVersion model = server.catalog().resolve("sum", "").version();
      SequenceState state = server.service().sequence(model, id).orElseThrow();
      CompletableFuture<Void> begun = new CompletableFuture<>();
      reader = Thread.ofPlatform().start(() -> read(state, begun));
      begun.join();
    }

    private void read(SequenceState state, CompletableFuture<Void> begun) {
      try {
        boolean _ =
            state.read(
                _ -> {
                  begun.complete(null);
                  over.join();
                });
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public void close() {
      over.complete(null);
      boolean isInterrupted = false;
      while (reader.isAlive()) {
        try {
          reader.join();
        } catch (InterruptedException e) {
          isInterrupted = true;
        }
      }
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Test
  void sequence_beginsAnewWithEachStart_andEndsWithItsEnd() throws Exception {
    assertEquals(1, steps(send("a", START)));
    assertEquals(1, steps(send("b", START)));
    assertEquals(2, steps(send("a", "")));
    assertEquals(1, steps(send("a", START)));
    assertEquals(2, steps(send("b", "")));
    assertEquals(2, steps(send("a", END)));
    checkRefused(400, "begin it with sequence_start", send("a", ""));
    checkRefused(400, "begin it with sequence_start", send("a", END));
    assertEquals(3, steps(send("b", END)));
    assertEquals(1, steps(send("b", START + END)));
    checkRefused(400, "begin it with sequence_start", send("b", ""));
  }

  @Test
  void requestOfNoSequence_isRefused() throws Exception {
    checkRefused(
        400,
        "send sequence_id",
        http.send(request(OwnedRepository.REQUEST), BodyHandlers.ofString()));
    checkRefused(400, "begin it with sequence_start", send("never", END));
  }

  /** The last one is refused at once; which that is, is not said. */
  @Test
  void stepsThatWait_areLimited_andAnswerEachTheirOwn() throws Exception {
    assertEquals(1, steps(send("w", START)));
    List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
    try (Held _ = new Held("w")) {
      for (int i = 0; i <= MOST_WAITING; i++) {
        all.add(http.sendAsync(request(body("w", "")), BodyHandlers.ofString()));
      }
      Object first = CompletableFuture.anyOf(all.toArray(CompletableFuture[]::new)).join();
      assertEquals(1, all.stream().filter(CompletableFuture::isDone).count(), first.toString());
    }
    List<HttpResponse<String>> responses = all.stream().map(CompletableFuture::join).toList();
    for (HttpResponse<String> response : responses) {
      if (response.statusCode() != 200) {
        checkRefused(503, MOST_WAITING + " steps of sequence", response);
      }
    }
    assertEquals(
        IntStream.rangeClosed(2, 1 + MOST_WAITING).mapToObj(step -> (long) step).toList(),
        responses.stream()
            .filter(response -> response.statusCode() == 200)
            .map(SequencesOverHttpTest::steps)
            .sorted()
            .toList());
    assertEquals(2 + MOST_WAITING, steps(send("w", END)));
  }

  private static long underWay() throws Exception {
    HttpResponse<String> metrics =
        http.send(
            HttpRequest.newBuilder(URI.create(server.url() + "/metrics")).build(),
            BodyHandlers.ofString());
    return metrics
        .body()
        .lines()
        .filter(line -> line.startsWith("pipelane_requests_under_way{"))
        .mapToLong(line -> Math.round(Double.parseDouble(line.substring(line.indexOf("} ") + 2))))
        .sum();
  }

  private static void awaitUnderWay(long requests) throws Exception {
    while (underWay() != requests) {
      Thread.onSpinWait();
    }
  }

  @Test
  void stepWhoseClientGoesWhileItWaits_isNotMade() throws Exception {
    assertEquals(1, steps(send("c", START)));
    awaitUnderWay(0);
    try (Held _ = new Held("c")) {
      byte[] body = body("c", "").getBytes(StandardCharsets.UTF_8);
      String head =
          "POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
              .formatted(body.length);
      try (Socket client = new Socket(server.address().getAddress(), server.address().getPort())) {
        client.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
        client.getOutputStream().write(body);
        awaitUnderWay(1);
      }
      awaitUnderWay(0);
    }
    assertEquals(2, steps(send("c", END)));
  }

  @Test
  void sequences_areLimited_untilSomeEnd() throws Exception {
    awaitSequences(0);
    int begun = 0;
    HttpResponse<String> response = send("m" + begun, START);
    while (response.statusCode() == 200 && begun < MOST_SEQUENCES) {
      begun++;
      response = send("m" + begun, START);
    }
    checkRefused(503, MOST_SEQUENCES + " sequences", response);
    assertEquals(2, steps(send("m0", "")), "those that are there go on");
    assertEquals(3, steps(send("m0", END)));
    awaitSequences(MOST_SEQUENCES - 1);
    assertEquals(1, steps(send("one more", START)));
    assertEquals(2, steps(send("one more", END)));
    for (int i = 1; i < begun; i++) {
      assertEquals(2, steps(send("m" + i, END)));
    }
    awaitSequences(0);
  }
}
