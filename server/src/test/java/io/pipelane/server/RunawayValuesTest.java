package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.TestDevices;
import io.pipelane.runtime.SharedCache;
import io.pipelane.switcher.memory.account.Ledger;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Values that ask for more memory or time than there is cost nobody else the model or a lane. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RunawayValuesTest {
  private static final int LANES = 2;
  private static final String FOR_EVER = "1000000000000000";

  private final HttpClient http = HttpClient.newHttpClient();
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private Path repository = Path.of("");
  private PipelaneServer server;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    repository = folder.resolve("repository");
    ValueModels.write(repository);
    server = serve("30s");
  }

  /** Serves the models, whose runs may compute for so long from one gate to the next. */
  private PipelaneServer serve(String longest) throws Exception {
    PipelaneServer serving =
        PipelaneServer.start(
            PipelaneConfig.of(
                TestDevices.settings(
                    Map.of(
                        "repository.path",
                        repository.toString(),
                        "repository.cache",
                        SharedCache.folder().toString(),
                        "device.memory",
                        "4MiB",
                        "device.working-memory",
                        TestDevices.ON_GPU ? "256MiB" : "64MiB", // Libraries take some of it there.
                        "device.lanes",
                        Integer.toString(LANES),
                        "workers.hang-timeout",
                        longest,
                        "server.http-port",
                        "0"))));
    serving.imports().get(2, TimeUnit.MINUTES);
    return serving;
  }

  @AfterAll
  void stop() {
    http.close();
    threads.close();
    server.close();
  }

  private static String count(String to) {
    return "{\"inputs\":[{\"name\":\"n\",\"datatype\":\"INT64\",\"shape\":[1],\"data\":[%s]}]}"
        .formatted(to);
  }

  private static String repeat(String times) {
    return ("{\"inputs\":[{\"name\":\"n\",\"datatype\":\"INT64\",\"shape\":[1],\"data\":[%s]},"
            + "{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1],\"data\":[0]}]}")
        .formatted(times);
  }

  private HttpResponse<String> infer(String model, String body) throws Exception {
    return infer(server, model, body);
  }

  private HttpResponse<String> infer(PipelaneServer asked, String model, String body)
      throws Exception {
    return http.send(
        HttpRequest.newBuilder(URI.create(asked.url() + "/v2/models/" + model + "/infer"))
            .POST(BodyPublishers.ofString(body))
            .build(),
        BodyHandlers.ofString());
  }

  @Test
  void aValueThatAsksForTooMuchMemory_leavesTheModelToOthers() throws Exception {
    assertEquals(200, infer(ValueModels.COUNT, count("3")).statusCode());
    Ledger before = server.switcher().memory().weights();
    // A GPU's kernel counts in 32 bits: of more it makes none.
    String most = TestDevices.ON_GPU ? "1000000000" : "1000000000000000000";
    for (String tooMuch : List.of(most, "100000000")) {
      HttpResponse<String> refused = infer(ValueModels.COUNT, count(tooMuch));
      assertEquals(507, refused.statusCode(), refused::body);
      HttpResponse<String> answered = infer(ValueModels.COUNT, count("3"));
      assertEquals(200, answered.statusCode(), answered::body);
      assertTrue(answered.body().contains("[0,1,2]"), answered::body);
    }
    server.switcher().verify();
    assertEquals(before, server.switcher().memory().weights());
  }

  @Test
  void runsThatWouldNeverEnd_endWhenTheirCallersHaveGone() throws Exception {
    HttpResponse<String> twice = infer(ValueModels.REPEAT, repeat("2"));
    assertTrue(twice.body().contains("\"data\":[2.0]"), twice::body);
    int runs = TestDevices.ON_GPU ? 1 : LANES; // A session of a GPU belongs to one lane.
    List<Socket> callers = new ArrayList<>();
    for (int run = 0; run < runs; run++) {
      callers.add(ask(repeat(FOR_EVER)));
    }
    awaitLanesInUse(runs);
    for (Socket caller : callers) {
      caller.close();
    }
    awaitLanesInUse(0);
    HttpResponse<String> next = infer(ValueModels.REPEAT, repeat("3"));
    assertTrue(next.body().contains("\"data\":[3.0]"), next::body);
    server.switcher().verify();
  }

  @Test
  void runsThatWouldNeverEnd_endThoughTheirCallersWait() throws Exception {
    try (PipelaneServer impatient = serve("1s")) {
      List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
      for (int run = 0; run < 2 * LANES; run++) {
        answers.add(CompletableFuture.supplyAsync(() -> endless(impatient), threads));
      }
      for (CompletableFuture<HttpResponse<String>> answer : answers) {
        HttpResponse<String> ended = answer.get();
        assertEquals(504, ended.statusCode(), ended::body);
        assertTrue(ended.body().contains("workers.hang-timeout"), ended::body);
      }
      HttpResponse<String> next = infer(impatient, ValueModels.REPEAT, repeat("3"));
      assertTrue(next.body().contains("\"data\":[3.0]"), next::body);
      impatient.switcher().verify();
    }
  }

  private HttpResponse<String> endless(PipelaneServer asked) {
    try {
      return infer(asked, ValueModels.REPEAT, repeat(FOR_EVER));
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** A caller that waits for an answer. */
  private Socket ask(String body) throws IOException {
    URI url = URI.create(server.url());
    Socket socket = new Socket(url.getHost(), url.getPort());
    String head =
        "POST /v2/models/%s/infer HTTP/1.1\r\nHost: %s:%d\r\nContent-Length: %d\r\n\r\n"
            .formatted(ValueModels.REPEAT, url.getHost(), url.getPort(), body.length());
    socket.getOutputStream().write((head + body).getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  private void awaitLanesInUse(int lanes) {
    while (server.switcher().memory().lanes().inUse() != lanes) {
      LockSupport.parkNanos(1_000_000);
    }
  }
}
