package io.pipelane.bench.correctness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.bench.process.ChildProcess;
import io.pipelane.demo.Questions;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.model.DemoRepository;
import io.pipelane.demo.plain.PlainSession;
import io.pipelane.demo.plain.RelativeDifference;
import io.pipelane.demo.protocol.InferenceClient;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.runtime.SharedCache;
import io.pipelane.server.cli.Pipelane;
import java.io.IOException;
import java.net.ConnectException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The end of a real process: SIGTERM while a request runs. */
@Timeout(180)
class DrainTest {
  private static final DemoModel MODEL = DemoModel.PPOCR_CLS;
  private static final Path LOG = Path.of("target", "drain-test.log");
  private static final long LIMIT_NANOS = 60_000_000_000L;
  private static final long POLL_NANOS = 20_000_000;

  private final HttpClient http = HttpClient.newHttpClient();
  private final long start = System.nanoTime();

  @Test
  void shouldFinishWhatRunsAndExitWithZeroOnSigterm(@TempDir Path folder) throws Exception {
    Path repository = folder.resolve("repository");
    DemoRepository.write(repository, EnumSet.of(MODEL));
    List<Tensor> inputs;
    try (Questions questions = new Questions()) {
      inputs = questions.page().forDirection(false);
    }
    Files.createDirectories(LOG.toAbsolutePath().getParent());
    try (ChildProcess server = ChildProcess.start(LOG, Pipelane.class, arguments(folder));
        InferenceClient client = new InferenceClient(server.url());
        ExecutorService threads = Executors.newSingleThreadExecutor()) {
      awaitReady(server.url());
      Future<List<Tensor>> running = threads.submit(() -> client.infer(MODEL.modelName(), inputs));
      awaitArrival(server.url());
      server.process().destroy();
      awaitRefusal(server.url());
      assertFalse(
          running.isDone(),
          () -> "the request was to outlast the listener: " + running + "; see " + LOG);

      try (PlainSession plain = new PlainSession(DemoRepository.file(repository, MODEL, 1))) {
        double difference =
            RelativeDifference.of(running.get(1, TimeUnit.MINUTES), plain.run(inputs));
        assertTrue(difference <= RelativeDifference.EQUAL, "differs by " + difference);
      }
      assertTrue(server.process().waitFor(1, TimeUnit.MINUTES), server::log);
      assertEquals(0, server.process().exitValue(), server::log);
    }
  }

  /** With a link over which the weights take seconds. */
  private static List<String> arguments(Path folder) {
    return List.of(
        "serve",
        "--repository",
        folder.resolve("repository").toString(),
        "--repository.cache",
        SharedCache.folder().toString(),
        "--link.bandwidth",
        "100KB/s",
        "--http-port",
        "0");
  }

  private void awaitReady(URI server) throws Exception {
    while (get(server.resolve("/v2/models/" + MODEL.modelName() + "/ready")).statusCode() != 200) {
      pause();
    }
  }

  private void awaitArrival(URI server) throws Exception {
    URI metrics = server.resolve("/metrics");
    while (get(metrics).body().lines().noneMatch(DrainTest::tellsOfRequest)) {
      pause();
    }
  }

  private static boolean tellsOfRequest(String line) {
    return line.startsWith("pipelane_requests_under_way{") && line.endsWith(" 1.0");
  }

  private void awaitRefusal(URI server) {
    assertThrows(
        ConnectException.class,
        () -> {
          while (true) {
            new Socket(server.getHost(), server.getPort()).close();
            pause();
          }
        });
  }

  private HttpResponse<String> get(URI address) throws IOException, InterruptedException {
    return http.send(HttpRequest.newBuilder(address).build(), BodyHandlers.ofString());
  }

  private void pause() {
    assertTrue(System.nanoTime() - start < LIMIT_NANOS, "the server does not get on; see " + LOG);
    LockSupport.parkNanos(POLL_NANOS);
  }
}
