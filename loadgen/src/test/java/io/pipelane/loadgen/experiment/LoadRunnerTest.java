package io.pipelane.loadgen.experiment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.ClosedPort;
import io.pipelane.loadgen.ScriptedServer;
import io.pipelane.loadgen.result.ErrorCount;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.settings.ArrivalPattern;
import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.PreparedRequest;
import io.pipelane.loadgen.settings.ResponseCheck;
import io.pipelane.loadgen.settings.Window;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class LoadRunnerTest {
  private static final LoadMode TWO_CONNECTIONS = new LoadMode.Closed(2);

  @Test
  void run_echoingServer_everyAnswerBelongsToItsRequest() throws Exception {
    ResponseCheck check =
        response -> {
          String body = StandardCharsets.UTF_8.decode(response.body()).toString();
          String expected =
              "POST /v2/models/m%%20%d/infer HTTP/1.1 body %d-%d"
                  .formatted(response.model(), response.model(), response.variant());
          return body.equals(expected) && response.jsonBytes() == 7
              ? Optional.empty()
              : Optional.of(body);
        };
    try (ScriptedServer server =
        new ScriptedServer(
            request ->
                ScriptedServer.answer(
                    200,
                    "Inference-Header-Content-Length: 7\r\n",
                    request.startLine() + " " + request.body()))) {
      List<ModelRequests> models =
          List.of(
              ModelRequests.infer("m 0", List.of(json("body 0-0"), json("body 0-1"))),
              ModelRequests.infer("m 1", List.of(json("body 1-0"))));

      LoadReport report =
          LoadRunner.run(test(server.url(), models, new LoadMode.Closed(4), 500, check));

      assertEquals(List.of(), report.total().errors());
      assertEquals(500, report.total().answered());
      assertEquals(4, server.accepted.get());
      assertTrue(report.cpu().process().isPositive());
    }
  }

  @Test
  void run_answersOutOfOrderAcrossConnections_allCounted() throws Exception {
    CountDownLatch secondArrived = new CountDownLatch(1);
    AtomicInteger arrived = new AtomicInteger();
    try (ScriptedServer server =
        new ScriptedServer(
            _ -> {
              int number = arrived.incrementAndGet();
              if (number == 1) {
                await(secondArrived);
              } else if (number == 2) {
                secondArrived.countDown();
              }
              return ScriptedServer.answer(200, "", "{}");
            })) {
      LoadReport report = LoadRunner.run(test(server.url(), TWO_CONNECTIONS, 10));

      assertEquals(10, report.total().answered());
    }
  }

  @Test
  void run_serverHangsUpNowAndThen_reconnectsAndCounts() throws Exception {
    AtomicInteger arrived = new AtomicInteger();
    try (ScriptedServer server =
        new ScriptedServer(
            _ ->
                arrived.incrementAndGet() % 10 == 0
                    ? Optional.empty()
                    : ScriptedServer.answer(200, "", "{}"))) {
      LoadReport report = LoadRunner.run(test(server.url(), TWO_CONNECTIONS, 100));

      assertEquals(90, report.total().answered());
      assertEquals(10, report.total().errorCount());
      assertEquals("connection lost", report.total().errors().getFirst().kind());
      assertEquals(10, report.sends().reconnects());
    }
  }

  @Test
  void run_serverClosesAfterEveryAnswer_noErrors() throws Exception {
    try (ScriptedServer server =
        new ScriptedServer(_ -> ScriptedServer.answer(200, "Connection: close\r\n", "{}"))) {
      LoadReport report = LoadRunner.run(test(server.url(), TWO_CONNECTIONS, 20));

      assertEquals(20, report.total().answered());
      assertEquals(List.of(), report.total().errors());
      assertEquals(20, report.sends().reconnects());
    }
  }

  @Test
  void run_refusals_countedByStatusWithFirstMessage() throws Exception {
    AtomicInteger arrived = new AtomicInteger();
    try (ScriptedServer server =
        new ScriptedServer(
            _ ->
                arrived.incrementAndGet() % 2 == 0
                    ? ScriptedServer.answer(200, "", "{}")
                    : ScriptedServer.answer(503, "", "{\"error\":\"queue full\"}"))) {
      LoadReport report = LoadRunner.run(test(server.url(), new LoadMode.Closed(1), 50));

      assertEquals(
          List.of(new ErrorCount("HTTP 503", 25, "{\"error\":\"queue full\"}")),
          report.total().errors());
    }
  }

  @Test
  void run_notHttp_countedAsLostConnections() throws Exception {
    try (ScriptedServer server = new ScriptedServer(_ -> Optional.of("220 mail ready\r\n"))) {
      LoadReport report = LoadRunner.run(test(server.url(), new LoadMode.Closed(1), 3));

      assertTrue(report.total().errors().getFirst().firstMessage().contains("not an HTTP"));
    }
  }

  @Test
  void run_openLoop_sendsTheScheduleOverItsConnections() throws Exception {
    Set<Thread> handlers = ConcurrentHashMap.newKeySet();
    try (ScriptedServer server =
        new ScriptedServer(
            _ -> {
              handlers.add(Thread.currentThread());
              return ScriptedServer.answer(200, "", "{}");
            })) {
      LoadMode open = new LoadMode.Open(new ArrivalPattern.Constant(400), 3);
      Window window = Window.lasting(Duration.ofMillis(100), Duration.ofMillis(500));

      LoadReport report = LoadRunner.run(test(server.url(), oneModel(), open, window));

      assertEquals(200, report.total().answered());
      assertEquals(200, report.sends().sent());
      assertEquals(3, handlers.size());
      assertTrue(
          report.total().responseNanos().getMean() >= report.total().serviceNanos().getMean());
    }
  }

  @Test
  void run_nobodyListens_unavailable() throws Exception {
    try (ClosedPort nobody = new ClosedPort()) {
      StatusException refused =
          assertThrows(
              StatusException.class, () -> LoadRunner.run(test(nobody.url(), TWO_CONNECTIONS, 1)));
      assertEquals(Status.UNAVAILABLE, refused.status());
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static PreparedRequest json(String body) {
    return PreparedRequest.json(body.getBytes(StandardCharsets.UTF_8));
  }

  private static List<ModelRequests> oneModel() {
    return List.of(ModelRequests.infer("m", List.of(json("{}"))));
  }

  private static LoadTest test(URI url, LoadMode mode, long requests) {
    return test(url, oneModel(), mode, requests, ResponseCheck.NONE);
  }

  private static LoadTest test(
      URI url, List<ModelRequests> models, LoadMode mode, long requests, ResponseCheck check) {
    return new LoadTest(
        Endpoint.of(url),
        models,
        new ModelChoice.Uniform(),
        mode,
        Window.ofRequests(requests),
        1,
        check);
  }

  private static LoadTest test(URI url, List<ModelRequests> models, LoadMode mode, Window window) {
    return new LoadTest(
        Endpoint.of(url), models, new ModelChoice.Uniform(), mode, window, 1, ResponseCheck.NONE);
  }
}
