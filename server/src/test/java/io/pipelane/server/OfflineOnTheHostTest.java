package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Online requests over HTTP beside an offline job that wants all of the host's processors: whose
 * threads come first, and that no request is lost for it.
 */
@Timeout(240)
class OfflineOnTheHostTest {
  private static final JsonMapper JSON = JsonMapper.builder().build();
  private static final int NICE = 12;
  private static final int WIDTH = 32;
  private static final int JOB_WIDTH = 384;
  private static final int JOB_ROWS = 48;
  private static final int ITEMS = 30;
  private static final int CLIENTS = 2;
  private static final int REQUESTS = 150;

  /** What a client leaves to offline work between two requests. */
  private static final long PAUSE_NANOS = 4_000_000;

  @TempDir private Path folder;
  private final HttpClient http = HttpClient.newHttpClient();
  private final Patience patience = Patience.begin();

  @BeforeEach
  void writeModels() throws IOException {
    write("online", 4, WIDTH);
    write("hungry", 16, JOB_WIDTH);
    Files.createDirectory(folder.resolve("jobs"));
  }

  private void write(String name, int layers, int width) throws IOException {
    Path version = Files.createDirectories(folder.resolve("models/" + name + "/1"));
    TestModels.write(TestModels.chain(layers, width, layers), version.resolve("model.onnx"));
  }

  @AfterEach
  void closeClient() {
    http.close();
  }

  /** A lane for each core, and a run in each whenever nobody online asks. */
  private PipelaneServer start(Map<String, String> more) {
    Map<String, String> settings = new HashMap<>();
    settings.put("repository.path", folder.resolve("models").toString());
    settings.put("repository.cache", SharedCache.folder().toString());
    settings.put("jobs.folder", folder.resolve("jobs").toString());
    settings.put("jobs.parallel-items", "4");
    settings.put("server.http-port", "0");
    settings.put("device.memory", "64MiB");
    settings.put("sharing.offline-nice", Integer.toString(NICE));
    settings.put("workers.isolation", "process");
    settings.put("workers.offline", "own");
    settings.put("workers.standbys", "1");
    settings.putAll(more);
    PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(settings));
    server.imports().join();
    return server;
  }

  @Test
  void online_besideAJobThatFillsAllProcessors_comesFirstAndLosesNothing() throws Exception {
    HostThread self = usual();
    try (PipelaneServer server = start(Map.of())) {
      String expected = infer(server);
      String job = submit(server);
      AtomicInteger answered = new AtomicInteger();
      try (ExecutorService threads = Executors.newFixedThreadPool(CLIENTS)) {
        List<Future<Void>> clients =
            Collections.nCopies(CLIENTS, client(server, job, expected, answered)).stream()
                .map(threads::submit)
                .toList();
        awaitOffline(server, job);
        assertUsual(self, HostThread.of(pid(server, "ACTIVE")));
        assertUsual(self, serving());
        for (HostThread thread : HostThread.of(pid(server, "OFFLINE"))) {
          assertEquals(NICE, thread.nice(), thread::toString);
          assertEquals(self.processors(), thread.processors(), thread::toString);
        }
        assertEquals(Set.of(NICE), niceOfJobs());
        for (Future<Void> client : clients) {
          client.get();
        }
      }
      assertTrue(answered.get() >= CLIENTS * REQUESTS);
      requireDone(server, job);
      assertEquals(0, get(server, "/v2/workers").path("lost").asInt());
      server.devices().verify();
    }
  }

  /** Where an owner names processors, offline work keeps to them, and online work has all. */
  @Test
  void offline_hasProcessorsOfItsOwn_keepsToThem() throws Exception {
    HostThread self = usual();
    String first = self.processors().split("[-,]", 2)[0];
    try (PipelaneServer server = start(Map.of("sharing.offline-processors", first))) {
      String expected = infer(server);
      String job = submit(server);
      awaitOffline(server, job);
      for (HostThread thread : HostThread.of(pid(server, "OFFLINE"))) {
        assertEquals(first, thread.processors(), thread::toString);
      }
      for (HostThread thread : jobs()) {
        assertEquals(first, thread.processors(), thread::toString);
      }
      assertUsual(self, HostThread.of(pid(server, "ACTIVE")));
      assertUsual(self, serving());
      assertEquals(expected, infer(server));
      requireDone(server, job);
    }
  }

  /** This thread, which nobody has made less urgent than the offline work of these tests. */
  private static HostThread usual() throws IOException {
    assumeTrue(Files.exists(Path.of("/proc/self/task")), "Linux tells of threads there");
    HostThread self =
        HostThread.of("self").stream()
            .filter(thread -> thread.name().equals("java"))
            .findFirst()
            .orElseThrow();
    assumeTrue(self.nice() < NICE, "who started the tests has made them less urgent");
    return self;
  }

  private static void assertUsual(HostThread self, List<HostThread> threads) {
    assertFalse(threads.isEmpty());
    for (HostThread thread : threads) {
      assertEquals(self.nice(), thread.nice(), thread::toString);
      assertEquals(self.processors(), thread.processors(), thread::toString);
    }
  }

  /** This process's threads that serve requests. */
  private static List<HostThread> serving() throws IOException {
    return HostThread.of("self").stream()
        .filter(thread -> thread.name().startsWith("lane-") || thread.name().startsWith("http-"))
        .toList();
  }

  private static List<HostThread> jobs() throws IOException {
    return HostThread.of("self").stream()
        .filter(thread -> thread.name().startsWith("job-") && !thread.name().equals("job-online"))
        .toList();
  }

  private static Set<Integer> niceOfJobs() throws IOException {
    return jobs().stream().map(HostThread::nice).collect(Collectors.toSet());
  }

  /** Asks until the job is done, and often enough. */
  private Callable<Void> client(
      PipelaneServer server, String job, String expected, AtomicInteger answered) {
    return () -> {
      for (int i = 0; i < REQUESTS || !isEnded(server, job); i++) {
        assertEquals(expected, infer(server));
        answered.incrementAndGet();
        LockSupport.parkNanos(PAUSE_NANOS);
      }
      return null;
    };
  }

  /** The same item again and again, so each row is known by the first. */
  private String submit(PipelaneServer server) throws Exception {
    String job =
        "{\"model\":\"hungry\",\"items\":[%s],\"output_file\":\"out\",\"repeat\":%d}"
            .formatted(body(JOB_ROWS, JOB_WIDTH), ITEMS);
    return JSON.readTree(post(server, "/v2/jobs", job)).path("id").asText();
  }

  /** Until an item is done, and the process that has done it is as it is to be. */
  private void awaitOffline(PipelaneServer server, String job) throws Exception {
    patience.awaitTrue(
        "offline work has run",
        () -> get(server, "/v2/jobs/" + job).path("items_done").asInt() > 0);
  }

  private String pid(PipelaneServer server, String state) throws Exception {
    for (JsonNode worker : get(server, "/v2/workers").path("workers")) {
      if (worker.path("state").asText().equals(state)) {
        return worker.path("pid").asText();
      }
    }
    throw new AssertionError("no worker is " + state);
  }

  private boolean isEnded(PipelaneServer server, String job) throws Exception {
    return !Set.of("QUEUED", "RUNNING")
        .contains(get(server, "/v2/jobs/" + job).path("state").asText());
  }

  /** Offline work gets little of a processor that others want, so it has a time of its own. */
  private void requireDone(PipelaneServer server, String job) throws Exception {
    Patience.begin().awaitTrue("the job ends", () -> isEnded(server, job));
    JsonNode ended = get(server, "/v2/jobs/" + job);
    assertEquals("DONE", ended.path("state").asText(), ended::toString);
    assertEquals(0, ended.path("items_failed").asInt(), ended::toString);
    List<String> rows = Files.readAllLines(folder.resolve("jobs/out"));
    assertEquals(ITEMS, rows.size());
    assertEquals(
        1, rows.stream().map(row -> row.substring(row.indexOf("\"response\""))).distinct().count());
  }

  private static String body(int rows, int width) {
    return "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[%d,%d],\"data\":%s}]}"
        .formatted(rows, width, Collections.nCopies(rows * width, "0.5"));
  }

  private String infer(PipelaneServer server) throws Exception {
    return post(server, "/v2/models/online/infer", body(1, WIDTH));
  }

  private JsonNode get(PipelaneServer server, String path) throws Exception {
    return JSON.readTree(send(HttpRequest.newBuilder(URI.create(server.url() + path))));
  }

  private String post(PipelaneServer server, String path, String body) throws Exception {
    return send(
        HttpRequest.newBuilder(URI.create(server.url() + path))
            .POST(BodyPublishers.ofString(body)));
  }

  private String send(HttpRequest.Builder request) throws IOException, InterruptedException {
    HttpResponse<String> answer = http.send(request.build(), BodyHandlers.ofString());
    assertEquals(200, answer.statusCode(), answer.body());
    return answer.body();
  }
}
