package io.pipelane.loadgen.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.server.ModelStatistics.Time;
import io.pipelane.loadgen.settings.Endpoint;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class HttpServerClientTest {
  private final Map<String, String> answers = new HashMap<>();
  private final HttpServer server;
  private final HttpServerClient client;

  HttpServerClientTest() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          String answer = answers.get(exchange.getRequestURI().getRawPath());
          byte[] body = (answer == null ? "{}" : answer).getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(answer == null ? 404 : 200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    client = new HttpServerClient(Endpoint.of(url()));
  }

  @AfterEach
  void stop() {
    client.close();
    server.stop(0);
  }

  /** No network knows a name with so long a label: DNS cannot even be asked for it. */
  @Test
  void model_hostThatNobodyKnows_isSaidToBeUnknown() {
    String host = "h".repeat(64) + ".invalid";
    try (HttpServerClient lost =
        new HttpServerClient(Endpoint.of(URI.create("http://" + host + ":8000")))) {
      StatusException refused = assertThrows(StatusException.class, () -> lost.model("m", ""));

      assertEquals(
          "cannot ask http://%s:8000/v2/models/m: nobody knows the name of the host"
              .formatted(host),
          refused.getMessage());
    }
  }

  /** No network takes a connection to everybody: the system does not even try. */
  @Test
  void model_hostThatCannotBeReached_isSaidInTheSystemsWords() {
    try (HttpServerClient lost =
        new HttpServerClient(Endpoint.of(URI.create("http://255.255.255.255:8000")))) {
      StatusException refused = assertThrows(StatusException.class, () -> lost.model("m", ""));

      String message = String.valueOf(refused.getMessage());
      assertTrue(message.contains("nobody takes the connection (Network is unreachable)"), message);
    }
  }

  @Test
  void model_answerThatIsNoJson_isSaidInOneLine() {
    answers.put("/v2/models/m", "<html>");

    StatusException refused = assertThrows(StatusException.class, () -> client.model("m", ""));

    String message = String.valueOf(refused.getMessage());
    assertTrue(message.contains("no model metadata: line 1, column 1: Unexpected"), message);
    assertEquals(1, message.lines().count(), message);
  }

  @Test
  void statistics_twoReadings_differenceOverAllVersions() throws Exception {
    answers.put("/v2/models/a%20b/stats", statistics(10, 5, 1000));
    ModelStatistics before = client.statistics("a b").orElseThrow();
    answers.put("/v2/models/a%20b/stats", statistics(30, 15, 9000));

    ModelStatistics since = client.statistics("a b").orElseThrow().minus(before);

    assertEquals(new ModelStatistics(20, 10, Map.of("queue", new Time(20, 8000))), since);
    assertEquals(400, since.times().getOrDefault("queue", new Time(0, 0)).meanNanos());
  }

  /** What the statistics extension documents, with all its members, and one of our own. */
  @Test
  void statistics_wholeAnswer_everyTimeOfTheModel() throws Exception {
    answers.put(
        "/v2/models/m/stats",
        """
        {"model_stats": [{
          "name": "m", "version": "1", "last_inference": 1750000000000,
          "inference_count": 12, "execution_count": 4,
          "inference_stats": {
            "success": {"count": 10, "ns": 5000000}, "fail": {"count": 1, "ns": 7},
            "queue": {"count": 10, "ns": 1000000}, "compute_input": {"count": 10, "ns": 20000},
            "compute_infer": {"count": 10, "ns": 3000000}, "compute_output": {"count": 10, "ns": 30000},
            "cache_hit": {"count": 0, "ns": 0}, "cache_miss": {"count": 0, "ns": 0},
            "stall": {"count": 2, "ns": 900000}},
          "response_stats": {"0": {"compute_infer": {"count": 1, "ns": 1}}},
          "batch_stats": [{"batch_size": 3,
            "compute_input": {"count": 4, "ns": 20000}, "compute_infer": {"count": 4, "ns": 3000000},
            "compute_output": {"count": 4, "ns": 30000}}],
          "memory_usage": [{"type": "GPU", "id": 0, "byte_size": 102400000}]}]}
        """);

    ModelStatistics statistics = client.statistics("m").orElseThrow();

    assertEquals(12, statistics.inferences());
    assertEquals(4, statistics.executions());
    assertEquals(9, statistics.times().size());
    assertEquals(new Time(10, 1_000_000), statistics.times().get("queue"));
    assertEquals(new Time(10, 3_000_000), statistics.times().get("compute_infer"));
    assertEquals(new Time(2, 900_000), statistics.times().get("stall"));
  }

  @Test
  void statistics_nothingToldOfTheModel_empty() throws Exception {
    answers.put("/v2/models/m/stats", "{\"model_stats\": []}");

    assertEquals(Optional.empty(), client.statistics("m"));
  }

  @Test
  void statistics_noSuchRoute_empty() throws Exception {
    assertEquals(Optional.empty(), client.statistics("m"));
  }

  @Test
  void readyModels_index_namesOfReadyVersionsOnce() throws Exception {
    answers.put(
        "/v2/repository/index",
        """
        [{"name":"b","version":"1","state":"READY"}, {"name":"b","version":"2","state":"READY"},
         {"name":"c","version":"1","state":"UNAVAILABLE"}, {"name":"a"}]
        """);

    assertEquals(List.of("a", "b"), client.readyModels());
  }

  @Test
  void readyModels_noIndex_saysWhatToDo() {
    StatusException refused = assertThrows(StatusException.class, client::readyModels);

    assertEquals(Status.UNIMPLEMENTED, refused.status());
    assertTrue(refused.toString().contains("--model"));
  }

  @Test
  void description_serverDoesNotSay_unknown() throws Exception {
    assertEquals(ServerDescription.UNKNOWN, client.description());
    answers.put("/v2", "{\"name\":\"triton\",\"version\":\"2.5\",\"extensions\":[\"statistics\"]}");
    assertEquals("triton 2.5", client.description().toString());
  }

  @Test
  void model_answerThatDoesNotEnd_givenUp() {
    server.createContext(
        "/v2/models/stuck",
        exchange -> {
          exchange.sendResponseHeaders(200, 1_000);
          exchange.getResponseBody().write('{');
          exchange.getResponseBody().flush();
        });
    try (HttpServerClient impatient =
        new HttpServerClient(Endpoint.of(url()), Duration.ofMillis(500))) {
      StatusException refused =
          assertThrows(StatusException.class, () -> impatient.model("stuck", ""));

      assertEquals(Status.UNAVAILABLE, refused.status());
    }
  }

  @Test
  void model_answerOfAnySize_refused() {
    answers.put("/v2/models/m", " ".repeat(17 << 20));

    StatusException refused = assertThrows(StatusException.class, () -> client.model("m", ""));

    assertEquals(Status.UNAVAILABLE, refused.status());
  }

  private URI url() {
    return URI.create("http://localhost:" + server.getAddress().getPort());
  }

  private static String statistics(int inferences, int executions, int queueNanos) {
    return """
        {"model_stats":[{"name":"a b","version":"1","inference_count":%d,"execution_count":%d,
          "inference_stats":{"queue":{"count":%d,"ns":%d}}}]}
        """
        .formatted(inferences, executions, inferences, queueNanos);
  }
}
