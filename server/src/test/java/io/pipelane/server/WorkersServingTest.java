package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.process.Signals;
import io.pipelane.modelstore.ChildJvm;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.cli.Pipelane;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A server in a process of its own, its workers in theirs, and signals to them. */
@Timeout(120)
class WorkersServingTest {
  private static final int WIDTH = 32;
  private static final int CLIENTS = 4;
  private static final String INPUT =
      "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,%d],\"data\":%s}]}"
          .formatted(WIDTH, Collections.nCopies(WIDTH, 0.5));

  /** Has the log of the server and its workers, which stays when a test fails. */
  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path folder;

  private final HttpClient http = HttpClient.newHttpClient();
  private final Patience patience = Patience.begin();
  private @Nullable Process process;
  private String url = "";
  private volatile boolean killed;

  private void startServer() throws Exception {
    Path version = Files.createDirectories(folder.resolve("repository/chain/1"));
    TestModels.write(TestModels.chain(4, WIDTH, 1), version.resolve("model.onnx"));
    Path log = folder.resolve("server.log");
    List<String> arguments = new ArrayList<>(List.of("serve"));
    settings().forEach((key, value) -> arguments.add("--" + key + "=" + value));
    process =
        ChildJvm.program("exec \"$@\"", List.of(), List.of("-Xmx256m"), Pipelane.class, arguments)
            .redirectOutput(log.toFile())
            .start();
    patience.awaitTrue("it listens", () -> listens(log));
    patience.awaitTrue(
        "the model is READY", () -> post("v2/models/chain/infer", INPUT).statusCode() == 200);
  }

  private Map<String, String> settings() {
    return Map.of(
        "repository.path",
        folder.resolve("repository").toString(),
        "repository.cache",
        SharedCache.folder().toString(),
        "server.http-port",
        "0",
        "device.memory",
        "16MiB",
        "device.lanes",
        "2",
        "workers.isolation",
        "process",
        "workers.standbys",
        "1");
  }

  private boolean listens(Path log) throws IOException {
    for (String line : Files.readAllLines(log)) {
      if (line.startsWith("Listening on ")) {
        url = line.substring("Listening on ".length());
      }
    }
    return !url.isEmpty();
  }

  @AfterEach
  void endServer() throws Exception {
    if (process != null) {
      process.destroyForcibly().waitFor();
    }
    http.close();
  }

  @Test
  void workers_killedRecycledAndOrphaned_answersGoOnAndNothingIsLeft() throws Exception {
    startServer();
    String expected = infer();
    patience.awaitTrue("a standby has the session", () -> !ids("STANDBY", 1).isEmpty());
    patience.awaitTrue("every worker lists the model", this::everyWorkerHasTheModel);
    Signals.send("KILL", pids().getFirst());
    for (int i = 0; i < 20; i++) {
      assertEquals(expected, infer());
    }
    assertEquals(1, workers().path("lost").asInt());
    assertTrue(workers().path("last_loss").asText().contains("signal 9"), workers().toString());
    patience.awaitTrue("there is a standby again", () -> !ids("STANDBY", 1).isEmpty());
    int active = ids("ACTIVE", 0).getFirst();
    assertEquals(200, post("v2/workers/" + active + "/recycle", "").statusCode());
    assertFalse(ids("ACTIVE", 0).contains(active));
    assertEquals(expected, infer());
    assertEquals(404, post("v2/workers/" + active + "/recycle", "").statusCode());
    assertEquals(404, post("v2/workers/99999999999/recycle", "").statusCode());
    List<Long> workers = pids();
    Signals.send("KILL", server().pid());
    patience.awaitTrue(
        "the workers end with the server", () -> workers.stream().noneMatch(this::lives));
  }

  @ParameterizedTest
  @CsvSource({"TERM, 15", "INT, 2"})
  void server_toldToEnd_endsWithZeroAndItsWorkersToo(String signal, int number) throws Exception {
    startServer();
    assumeFalse(isIgnored(number), "who started the tests has them ignore SIG" + signal);
    List<Long> workers = pids();
    Signals.send(signal, server().pid());
    assertTrue(server().waitFor(30, TimeUnit.SECONDS));
    assertEquals(0, server().exitValue());
    patience.awaitTrue(
        "the workers end with the server", () -> workers.stream().noneMatch(this::lives));
  }

  /** As processes do that a shell starts behind it; their children inherit that. */
  private boolean isIgnored(int signal) throws IOException {
    String ignored =
        Files.readAllLines(Path.of("/proc/" + server().pid() + "/status")).stream()
            .filter(line -> line.startsWith("SigIgn:"))
            .findFirst()
            .orElseThrow();
    long mask = Long.parseUnsignedLong(ignored.substring("SigIgn:".length()).strip(), 16);
    return (mask >> (signal - 1) & 1) == 1;
  }

  @Test
  void server_killedUnderLoad_leavesNothingAndItsSuccessorIsExact() throws Exception {
    startServer();
    String expected = infer();
    patience.awaitTrue("a standby has the session", () -> !ids("STANDBY", 1).isEmpty());
    List<Long> workers = pids();
    for (long each : workers) {
      assertEquals(List.of(), namedMemory(each));
    }
    assertEquals(List.of(), namedMemory(server().pid()));
    AtomicInteger answered = new AtomicInteger();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> clients = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        clients.add(threads.submit(() -> askUntilUnanswered(expected, answered)));
      }
      patience.awaitTrue(
          "clients are answered",
          () -> answered.get() > 200 || clients.stream().anyMatch(Future::isDone));
      killed = true;
      Signals.send("KILL", server().pid());
      for (Future<?> client : clients) {
        client.get();
      }
    }
    patience.awaitTrue(
        "the workers end with the server", () -> workers.stream().noneMatch(this::lives));
    try (PipelaneServer successor = PipelaneServer.start(PipelaneConfig.of(settings()))) {
      url = successor.url();
      successor.imports().get(60, TimeUnit.SECONDS);
      for (int i = 0; i < 20; i++) {
        assertEquals(expected, infer());
        successor.devices().verify();
      }
    }
  }

  /** Every answer is right until there is none. */
  private Void askUntilUnanswered(String expected, AtomicInteger answered) throws Exception {
    while (true) {
      HttpResponse<String> response;
      try {
        response = post("v2/models/chain/infer", INPUT);
      } catch (IOException e) {
        assertTrue(killed, e::toString);
        return null;
      }
      assertEquals(200, response.statusCode(), response.body());
      assertEquals(expected, response.body());
      answered.incrementAndGet();
    }
  }

  /** Files of shared memory, which would outlive all processes that have them. */
  private static List<String> namedMemory(long pid) throws IOException {
    try (Stream<String> mappings = Files.lines(Path.of("/proc/" + pid + "/maps"))) {
      return mappings.filter(line -> line.contains(" /dev/shm/")).toList();
    }
  }

  /** One that is stopped does not see its standard input end. */
  @Test
  void server_killedWhileAWorkerIsStopped_theWorkerEndsToo() throws Exception {
    startServer();
    long worker = pids().getFirst();
    Signals.stop(worker);
    Signals.send("KILL", server().pid());
    patience.awaitTrue("the worker goes on, to its end", () -> !lives(worker));
  }

  /** A process of an earlier server that does not notice that it is gone. */
  public static final class Heedless {
    private Heedless() {}

    /** Does nothing, for ever. */
    public static void main(String[] arguments) throws InterruptedException {
      new CountDownLatch(1).await();
    }
  }

  @Test
  void start_processLeftBehindByAnother_isEnded() throws Exception {
    List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", "\"$@\" & echo $!", "sh"));
    command.addAll(
        ChildJvm.program("exec \"$@\"", List.of(), List.of("-Xmx16m"), Heedless.class, List.of())
            .command());
    Process parent = new ProcessBuilder(command).redirectError(Redirect.DISCARD).start();
    long orphan = Long.parseLong(parent.inputReader(StandardCharsets.UTF_8).readLine());
    parent.waitFor();
    patience.awaitTrue("it runs", () -> words(orphan).split("\0", 2)[0].endsWith("/bin/java"));
    Files.createDirectories(folder.resolve("repository"));
    PipelaneServer.start(PipelaneConfig.of(settings())).close();
    assertEquals("", words(orphan));
  }

  /** A process's words; none when it is gone, or goes meanwhile. */
  private static String words(long pid) {
    try {
      return Files.readString(Path.of("/proc/" + pid + "/cmdline"));
    } catch (IOException e) {
      return "";
    }
  }

  private Process server() {
    return Objects.requireNonNull(process);
  }

  private boolean lives(long pid) {
    return ProcessHandle.of(pid).filter(ProcessHandle::isAlive).isPresent();
  }

  private String infer() throws Exception {
    HttpResponse<String> response = post("v2/models/chain/infer", INPUT);
    assertEquals(200, response.statusCode(), response.body());
    return response.body();
  }

  private JsonNode workers() throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(url + "/v2/workers")).build();
    return new JsonMapper().readTree(http.send(request, BodyHandlers.ofString()).body());
  }

  private boolean everyWorkerHasTheModel() throws Exception {
    for (JsonNode worker : workers().path("workers")) {
      if (!worker.path("models").path(0).path("name").asText().equals("chain")) {
        return false;
      }
    }
    return true;
  }

  private List<Long> pids() throws Exception {
    List<Long> pids = new ArrayList<>();
    workers().path("workers").forEach(worker -> pids.add(worker.path("pid").asLong()));
    return pids;
  }

  private List<Integer> ids(String state, int sessions) throws Exception {
    List<Integer> ids = new ArrayList<>();
    for (JsonNode worker : workers().path("workers")) {
      if (worker.path("state").asText().equals(state)
          && worker.path("sessions").asInt() >= sessions) {
        ids.add(worker.path("id").asInt());
      }
    }
    return ids;
  }

  private HttpResponse<String> post(String path, String body) throws Exception {
    return http.send(
        HttpRequest.newBuilder(URI.create(url + "/" + path))
            .POST(BodyPublishers.ofString(body))
            .build(),
        BodyHandlers.ofString());
  }
}
