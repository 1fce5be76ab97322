package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.protobuf.ByteString;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.TestDevices;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Offline jobs in a server with two devices, over HTTP. */
@Timeout(240)
class JobsOnSeveralDevicesTest {
  private static final int WIDTH = 32;
  private static final int ITEMS = 400;
  private static final long LOOK_AGAIN_NANOS = 5_000_000;

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
    TestModels.write(sum(), folder.resolve("models/sum/1/model.onnx"));
    Files.writeString(folder.resolve("models/sum/pipelane.yaml"), "state:\n  t: s\n");
    TestModels.write(sum(), folder.resolve("models/again/1/model.onnx"));
    Files.writeString(folder.resolve("models/again/pipelane.yaml"), "state:\n  t: s\n");
    Files.createDirectory(folder.resolve("models/sums"));
    Files.writeString(
        folder.resolve("models/sums/pipelane.yaml"),
        """
        ensemble:
          steps:
            - {model: sum, inputs: {x: x}, outputs: {y: first}}
            - {model: again, inputs: {x: first}, outputs: {y: y}}
        """);
    Files.createDirectory(folder.resolve("jobs"));
    StringBuilder items = new StringBuilder();
    for (int item = 0; item < ITEMS; item++) {
      items.append(body(item)).append('\n');
    }
    Files.writeString(folder.resolve("jobs/in.jsonl"), items);
  }

  /** {@code y = x 1 + s}, and t is the same: the next step's s. */
  private static ModelProto sum() {
    ByteBuffer identity =
        ByteBuffer.allocate(WIDTH * WIDTH * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < WIDTH; i++) {
      identity.putFloat((i * WIDTH + i) * Float.BYTES, 1);
    }
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", WIDTH))
            .addInput(TestModels.batch("s", WIDTH))
            .addInitializer(
                TestModels.tensor(
                    "one", TensorType.FP32, ByteString.copyFrom(identity), WIDTH, WIDTH))
            .addNode(TestModels.node("MatMul", List.of("x", "one"), "h"))
            .addNode(TestModels.node("Add", List.of("h", "s"), "y"))
            .addNode(TestModels.node("Identity", List.of("y"), "t"))
            .addOutput(TestModels.batch("y", WIDTH))
            .addOutput(TestModels.batch("t", WIDTH)));
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
    Map<String, String> config = TwoDevices.settings("128KiB", 8);
    config.put("repository.path", folder.resolve("models").toString());
    config.put("repository.cache", SharedCache.folder().toString());
    config.put("jobs.folder", folder.resolve("jobs").toString());
    config.put("workers.isolation", "thread");
    config.put("server.http-port", "0");
    config.putAll(more);
    PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(config));
    server.imports().join();
    return server;
  }

  private String send(HttpRequest.Builder request) throws IOException, InterruptedException {
    HttpResponse<String> answer = client.send(request.build(), BodyHandlers.ofString());
    assertEquals(200, answer.statusCode(), answer.body());
    return answer.body();
  }

  private JsonNode get(PipelaneServer server, String path)
      throws IOException, InterruptedException {
    return json.readTree(send(HttpRequest.newBuilder(URI.create(server.url() + path))));
  }

  private String post(PipelaneServer server, String path, String body)
      throws IOException, InterruptedException {
    return send(
        HttpRequest.newBuilder(URI.create(server.url() + path))
            .POST(BodyPublishers.ofString(body)));
  }

  /** A job that goes on for as long as anybody looks. */
  private String submit(PipelaneServer server, String model)
      throws IOException, InterruptedException {
    String job =
        "{\"model\":\"%s\",\"input_file\":\"in.jsonl\",\"output_file\":\"out\",\"repeat\":1000000}"
            .formatted(model);
    return json.readTree(post(server, "/v2/jobs", job)).path("id").asText();
  }

  private JsonNode job(PipelaneServer server, String id) throws IOException, InterruptedException {
    return get(server, "/v2/jobs/" + id);
  }

  /** The job once it has so many rows more. */
  private JsonNode rowsAfter(PipelaneServer server, String id, long more)
      throws IOException, InterruptedException {
    JsonNode job = job(server, id);
    long rows = job.path("items_done").asLong() + more;
    while (job.path("items_done").asLong() < rows) {
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
      job = job(server, id);
      assertTrue(job.path("state").asText().matches("QUEUED|RUNNING"), job.toString());
    }
    return job;
  }

  private JsonNode moved(PipelaneServer server, String id)
      throws IOException, InterruptedException {
    JsonNode job = job(server, id);
    while (job.path("place").path("moves").asInt() == 0) {
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
      job = job(server, id);
      assertTrue(job.path("state").asText().matches("QUEUED|RUNNING"), job.toString());
    }
    return job;
  }

  /** The rows of a job that was left. */
  private List<String> rows(String id) throws IOException {
    return Files.readAllLines(folder.resolve("jobs/out." + id + ".partial"));
  }

  /** All rows of a job of m0, where each item must be answered as it is online. */
  private void checkRows(String id, List<String> answers, long atLeast) throws IOException {
    List<String> rows = rows(id);
    assertTrue(rows.size() >= atLeast, rows.size() + " of " + atLeast);
    for (int row = 0; row < rows.size(); row++) {
      String answer = answers.get(row % ITEMS);
      assertAnswer("{\"item\":%d,\"response\":%s}".formatted(row, answer), rows.get(row));
    }
  }

  /** On a GPU batches of other sizes round otherwise. */
  private void assertAnswer(String expected, String actual) throws IOException {
    if (!TestDevices.ON_GPU) {
      assertEquals(expected, actual);
      return;
    }
    JsonNode wanted = json.readTree(expected);
    JsonNode got = json.readTree(actual);
    assertEquals(wanted.path("item"), got.path("item"));
    Tf32.assertClose(floats(data(wanted)), floats(data(got)), actual);
  }

  private static JsonNode data(JsonNode row) {
    return row.path("response").path("outputs").path(0).path("data");
  }

  private static float[] floats(JsonNode data) {
    float[] values = new float[data.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = data.path(i).floatValue();
    }
    return values;
  }

  private List<String> answers(PipelaneServer server) throws IOException, InterruptedException {
    List<String> answers = new ArrayList<>();
    for (int item = 0; item < ITEMS; item++) {
      answers.add(post(server, "/v2/models/m0/infer", body(item)));
    }
    return answers;
  }

  private static String device(JsonNode job) {
    return job.path("place").path("device").asText();
  }

  @Test
  void jobIsToldOf_andMovesWhenItsDeviceIsLost() throws Exception {
    List<String> answers;
    String id;
    long atLeast;
    try (PipelaneServer server = start(Map.of())) {
      answers = answers(server);
      id = submit(server, "m0");
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
      assertNotEquals(first, device(moved(server, id)));
      atLeast = rowsAfter(server, id, ITEMS).path("items_done").asLong();
      String metrics = metrics(server);
      assertTrue(metrics.contains("pipelane_job_moves_total 1.0"), metrics);
      assertTrue(metrics.contains("pipelane_placed_jobs{device=\"" + first + "\"} 0.0"), metrics);
    }
    checkRows(id, answers, atLeast);
  }

  @Test
  void newJob_isProfiled() throws Exception {
    Path profiles = folder.resolve("jobs/.placement/profiles.tsv");
    try (PipelaneServer server = start(Map.of())) {
      String id = submit(server, "m0");
      while (!Files.exists(profiles)) {
        JsonNode _ = rowsAfter(server, id, 1);
      }
    }
    String profile = Files.readString(profiles);
    assertTrue(profile.startsWith("m0/1\t"), profile);
    assertEquals(!TestDevices.ON_GPU, profile.startsWith("m0/1\tcpu\t"), profile);
  }

  @Test
  void withoutAnInterval_jobsHaveNoDevice() throws Exception {
    try (PipelaneServer server = start(Map.of("placement.offline-interval", "0ms"))) {
      JsonNode job = rowsAfter(server, submit(server, "m0"), 1);
      assertTrue(job.path("place").isMissingNode(), job.toString());
      assertFalse(metrics(server).contains("pipelane_placed_jobs"));
    }
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

  /** Asks online on the job's device until the job has gone elsewhere. */
  private void crowdOut(PipelaneServer server, String id) throws IOException, InterruptedException {
    JsonNode job = rowsAfter(server, id, 1);
    String first = device(job);
    String infer = "/v2/models/m" + modelOn(server, first) + "/infer";
    while (job.path("place").path("moves").asInt() == 0) {
      for (int request = 0; request < 100; request++) {
        String _ = post(server, infer, body(request));
      }
      job = job(server, id);
    }
    assertNotEquals(first, device(job));
  }

  @Test
  void onlineWorkThatComes_hasTheJobGoElsewhereAtTheNextMatching() throws Exception {
    List<String> answers;
    String id;
    long atLeast;
    try (PipelaneServer server = start(Map.of("placement.offline-interval", "2s"))) {
      answers = answers(server);
      id = submit(server, "m0");
      crowdOut(server, id);
      atLeast = rowsAfter(server, id, ITEMS).path("items_done").asLong();
    }
    checkRows(id, answers, atLeast);
  }

  /** Sums of small whole numbers, which floats hold exactly, and later as this test adds them. */
  @Test
  void jobWithState_goesElsewhereWithIt() throws Exception {
    String id;
    long atLeast;
    try (PipelaneServer server = start(Map.of("placement.offline-interval", "2s"))) {
      id = submit(server, "sum");
      crowdOut(server, id);
      atLeast = rowsAfter(server, id, ITEMS).path("items_done").asLong();
    }
    List<String> rows = rows(id);
    assertTrue(rows.size() >= atLeast, rows.size() + " of " + atLeast);
    float sum = 0;
    for (int row = 0; row < rows.size(); row++) {
      sum += row % ITEMS;
      checkSum(row, sum, rows.get(row));
    }
  }

  /** The sums of sums; both states come back from the checkpoint, each to its model. */
  @Test
  void jobOfAnEnsemble_goesOnWithItsModelsStatesOverARestart() throws Exception {
    Map<String, String> often = Map.of("jobs.checkpoint-iterations", "7");
    String id;
    try (PipelaneServer server = start(often)) {
      id = submit(server, "sums");
      JsonNode _ = rowsAfter(server, id, 50);
    }
    long atLeast;
    try (PipelaneServer server = start(often)) {
      atLeast = rowsAfter(server, id, 50).path("items_done").asLong();
    }
    List<String> rows = rows(id);
    assertTrue(rows.size() >= atLeast, rows.size() + " of " + atLeast);
    float sum = 0;
    float sums = 0;
    for (int row = 0; row < rows.size(); row++) {
      sum += row % ITEMS;
      sums += sum;
      checkSum(row, sums, rows.get(row));
    }
  }

  private void checkSum(int row, float expected, String line) throws IOException {
    JsonNode answer = json.readTree(line);
    assertEquals(row, answer.path("item").asInt());
    JsonNode first = data(answer).path(0);
    assertEquals(expected, first.floatValue(), line);
  }

  private String metrics(PipelaneServer server) throws IOException, InterruptedException {
    return send(HttpRequest.newBuilder(URI.create(server.url() + "/metrics")));
  }

  @Test
  void jobGoesOnOverARestart() throws Exception {
    List<String> answers;
    String id;
    try (PipelaneServer server = start(Map.of())) {
      answers = answers(server);
      id = submit(server, "m0");
      JsonNode running = rowsAfter(server, id, ITEMS);
      assertTrue(
          List.of(TwoDevices.first(server), TwoDevices.second(server)).contains(device(running)),
          running.toString());
    }
    long before = rows(id).size();
    long atLeast;
    try (PipelaneServer server = start(Map.of())) {
      JsonNode running = rowsAfter(server, id, ITEMS);
      assertTrue(
          List.of(TwoDevices.first(server), TwoDevices.second(server)).contains(device(running)),
          running.toString());
      atLeast = running.path("items_done").asLong();
      assertTrue(atLeast >= before + ITEMS, atLeast + " after " + before);
    }
    checkRows(id, answers, atLeast);
  }
}
