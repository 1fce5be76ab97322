package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.modelstore.ModelVersion;
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
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Offline jobs in a server with two devices of the processor, over HTTP. */
@Timeout(60)
class JobsOnSeveralDevicesTest {
  private static final int WIDTH = 32;
  private static final int ITEMS = 400;

  /** Every model that is asked online. */
  private static final int MODELS = 2;

  @TempDir private Path folder;
  private final HttpClient client = HttpClient.newHttpClient();
  private final JsonMapper json = JsonMapper.builder().build();

  @BeforeEach
  void writeModelsAndItems() throws IOException {
    for (int seed = 0; seed < MODELS; seed++) {
      TestModels.write(
          TestModels.chain(4, WIDTH, seed), folder.resolve("models/m" + seed + "/1/model.onnx"));
    }
    Files.createDirectory(folder.resolve("jobs"));
    StringBuilder items = new StringBuilder();
    for (int item = 0; item < ITEMS; item++) {
      items.append(body(item)).append('\n');
    }
    Files.writeString(folder.resolve("jobs/in.jsonl"), items);
  }

  @AfterEach
  void closeClient() {
    client.close();
  }

  private static String body(int value) {
    String data = String.join(",", Collections.nCopies(WIDTH, Integer.toString(value)));
    return "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,%d],\"data\":[%s]}]}"
        .formatted(WIDTH, data);
  }

  private PipelaneServer start(Map<String, String> more) {
    Map<String, String> config =
        new HashMap<>(
            Map.of(
                "repository.path", folder.resolve("models").toString(),
                "repository.cache", folder.resolve("cache").toString(),
                "jobs.folder", folder.resolve("jobs").toString(),
                "device.kind", "cpu:0,1",
                "device.memory", "128KiB",
                "device.page-size", "4KiB",
                "workers.isolation", "thread",
                "server.http-port", "0"));
    config.putAll(more);
    PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(config));
    server.imports().join();
    return server;
  }

  private JsonNode send(HttpRequest.Builder request) throws IOException, InterruptedException {
    HttpResponse<String> answer = client.send(request.build(), BodyHandlers.ofString());
    assertEquals(200, answer.statusCode(), answer.body());
    return json.readTree(answer.body());
  }

  private JsonNode get(PipelaneServer server, String path)
      throws IOException, InterruptedException {
    return send(HttpRequest.newBuilder(URI.create(server.url() + path)));
  }

  private JsonNode post(PipelaneServer server, String path, String body)
      throws IOException, InterruptedException {
    return send(
        HttpRequest.newBuilder(URI.create(server.url() + path))
            .POST(BodyPublishers.ofString(body)));
  }

  private String submit(PipelaneServer server, String output, int repeat)
      throws IOException, InterruptedException {
    String job =
        "{\"model\":\"m0\",\"input_file\":\"in.jsonl\",\"output_file\":\"%s\",\"repeat\":%d}"
            .formatted(output, repeat);
    return post(server, "/v2/jobs", job).path("id").asText();
  }

  private JsonNode job(PipelaneServer server, String id) throws IOException, InterruptedException {
    return get(server, "/v2/jobs/" + id);
  }

  private JsonNode rowsAfter(PipelaneServer server, String id, long rows)
      throws IOException, InterruptedException {
    JsonNode job = job(server, id);
    while (job.path("items_done").asLong() <= rows && job.path("items").isMissingNode()) {
      job = job(server, id);
    }
    return job;
  }

  private String ended(PipelaneServer server, String id) throws IOException, InterruptedException {
    JsonNode job = job(server, id);
    while (job.path("state").asText().matches("QUEUED|RUNNING")) {
      job = job(server, id);
    }
    assertEquals("DONE", job.path("state").asText(), job.toString());
    assertEquals(0, job.path("items_failed").asInt(), job.toString());
    return Files.readString(folder.resolve("jobs").resolve(output(job)));
  }

  private static String output(JsonNode job) {
    return job.path("output_file").asText();
  }

  private String undisturbed(int repeat) throws IOException, InterruptedException {
    try (PipelaneServer server = start(Map.of("placement.offline-interval", "0ms"))) {
      String id = submit(server, "undisturbed" + repeat, repeat);
      String rows = ended(server, id);
      assertTrue(job(server, id).path("place").isMissingNode());
      assertEquals((long) ITEMS * repeat, rows.lines().count());
      return rows;
    }
  }

  private static String device(JsonNode job) {
    return job.path("place").path("device").asText();
  }

  @Test
  void jobIsToldOf_andMovesWhenItsDeviceIsLost() throws Exception {
    int repeat = 20;
    String expected = undisturbed(repeat);
    try (PipelaneServer server = start(Map.of())) {
      String id = submit(server, "moved", repeat);
      JsonNode running = rowsAfter(server, id, ITEMS);
      String first = device(running);
      assertEquals("rule", running.path("place").path("by").asText(), running.toString());
      JsonNode state = get(server, "/v2/pipelane/state");
      for (JsonNode device : state.path("devices")) {
        boolean isHere = device.path("name").asText().equals(first);
        assertEquals(
            isHere ? id : "", device.path("offline_job").path("id").asText(), state.toString());
      }
      server.devices().lose(first);
      String rows = ended(server, id);
      assertEquals(expected, rows);
      String metrics = metrics(server);
      assertTrue(metrics.contains("pipelane_job_moves_total 1.0"), metrics);
      assertTrue(metrics.contains("pipelane_placed_jobs{device=\"" + first + "\"} 0.0"), metrics);
    }
  }

  @Test
  void newJob_isProfiled() throws Exception {
    Path profiles = folder.resolve("jobs/.placement/profiles.tsv");
    try (PipelaneServer server = start(Map.of())) {
      String id = submit(server, "long", 1_000_000);
      while (!Files.exists(profiles)) {
        assertEquals("", job(server, id).path("items").asText(), "it has ended");
      }
    }
    String profile = Files.readString(profiles);
    assertTrue(profile.startsWith("m0/1\t"), profile);
  }

  /** The model whose home a device is. */
  private static int modelOn(PipelaneServer server, String device) {
    return IntStream.range(0, MODELS)
        .filter(
            model ->
                server
                    .devices()
                    .devices(new ModelVersion("m" + model, 1))
                    .getFirst()
                    .equals(device))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void onlineWorkThatComes_hasTheJobGoElsewhereAtTheNextMatching() throws Exception {
    List<String> once = undisturbed(1).lines().toList();
    String id;
    long rows;
    try (PipelaneServer server = start(Map.of("placement.offline-interval", "2s"))) {
      id = submit(server, "long", 1_000_000);
      String first = device(rowsAfter(server, id, 0));
      String infer = "/v2/models/m" + modelOn(server, first) + "/infer";
      JsonNode job = job(server, id);
      while (job.path("place").path("moves").asInt() == 0) {
        for (int request = 0; request < 100; request++) {
          post(server, infer, body(request));
        }
        job = job(server, id);
      }
      assertNotEquals(first, device(job));
      rows =
          rowsAfter(server, id, job.path("items_done").asLong() + ITEMS)
              .path("items_done")
              .asLong();
    }
    List<String> written = Files.readAllLines(folder.resolve("jobs/long." + id + ".partial"));
    assertTrue(written.size() >= rows, written.size() + " of " + rows);
    for (int row = 0; row < written.size(); row++) {
      String expected = once.get(row % ITEMS).replaceFirst("\"item\":\\d+", "\"item\":" + row);
      assertEquals(expected, written.get(row));
    }
  }

  private String metrics(PipelaneServer server) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(URI.create(server.url() + "/metrics")).build();
    return client.send(request, BodyHandlers.ofString()).body();
  }

  @Test
  void jobGoesOnOverARestart() throws Exception {
    int repeat = 10;
    String expected = undisturbed(repeat);
    String id;
    try (PipelaneServer server = start(Map.of())) {
      id = submit(server, "resumed", repeat);
      JsonNode running = rowsAfter(server, id, ITEMS);
      assertTrue(device(running).startsWith("cpu:"), running.toString());
    }
    try (PipelaneServer server = start(Map.of())) {
      assertEquals(expected, ended(server, id));
    }
  }
}
