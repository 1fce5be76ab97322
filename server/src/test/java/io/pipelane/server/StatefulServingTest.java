package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.lanes.TestDevices;
import io.pipelane.runtime.StatefulModels;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Models that keep state, of the forms that they have in practice, as clients have them: each step
 * must answer what the same graph does whose state the client sends along, or which is asked all at
 * once.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StatefulServingTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int[] LENGTHS = {3, 1, 1, 2, 1};

  /** Products on a GPU are in TF32. */
  private static final double TOLERANCE = TestDevices.ON_GPU ? 5e-4 : 1e-5;

  @TempDir private static Path folder = Path.of("");

  /** One input of a request. */
  private static String input(String name, String type, List<Integer> shape, String data) {
    return "{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":%s,\"data\":[%s]}"
        .formatted(name, type, shape, data);
  }

  private static String body(String parameters, String... inputs) {
    return "{\"parameters\":{%s},\"inputs\":[%s]}".formatted(parameters, String.join(",", inputs));
  }

  private static String step(String id, boolean start, boolean end) {
    return "\"sequence_id\":\"%s\",\"sequence_start\":%s,\"sequence_end\":%s"
        .formatted(id, start, end);
  }

  private static String ids(int[][] rows, int from, int to) {
    return input(
        "ids",
        "INT64",
        List.of(rows.length, to - from),
        Arrays.stream(rows)
            .flatMapToInt(row -> Arrays.stream(row, from, to))
            .mapToObj(Integer::toString)
            .collect(Collectors.joining(",")));
  }

  private static String noPast(String name, int rows) {
    List<Integer> shape = List.of(rows, StatefulModels.HEADS, 0, StatefulModels.HEAD_WIDTH);
    return input(name, "FP32", shape, "");
  }

  /** The last of each row's logits: no token knows what follows it. */
  private static double[] last(HttpResponse<String> response, int rows, int tokens)
      throws Exception {
    double[] all = output(response, "logits");
    int one = StatefulModels.TOKENS;
    return IntStream.range(0, rows)
        .boxed()
        .flatMapToDouble(
            row -> Arrays.stream(all, (row * tokens + tokens - 1) * one, (row + 1) * tokens * one))
        .toArray();
  }

  private static double[] output(HttpResponse<String> response, String name) throws Exception {
    assertEquals(200, response.statusCode(), response.body());
    for (JsonNode output : JSON.readTree(response.body()).path("outputs")) {
      if (output.path("name").asText().equals(name)) {
        return numbers(output);
      }
    }
    throw new AssertionError("no " + name + " in " + response.body());
  }

  private static double[] numbers(JsonNode output) {
    return StreamSupport.stream(output.path("data").spliterator(), false)
        .mapToDouble(JsonNode::asDouble)
        .toArray();
  }

  @ParameterizedTest
  @ValueSource(strings = {"thread", "process"})
  void decoder_tokenByToken_answersAsAllAtOnce(String isolation) throws Exception {
    try (OwnedRepository owned = new OwnedRepository(folder.resolve("decoder-" + isolation))) {
      for (String model : List.of("decoder", "plain")) {
        TestModels.write(StatefulModels.decoder(), owned.path(model + "/1/model.onnx"));
      }
      owned.text(
          "decoder/pipelane.yaml",
          "state:\n  present_key: past_key\n  present_value: past_value\n");
      try (PipelaneServer server = owned.start(Map.of("workers.isolation", isolation))) {
        for (int rows : List.of(1, 2)) {
          int[][] tokens = tokens(rows);
          int from = 0;
          for (int length : LENGTHS) {
            int to = from + length;
            boolean ends = to == tokens[0].length;
            String all =
                body("", ids(tokens, 0, to), noPast("past_key", rows), noPast("past_value", rows));
            String next = body(step("rows" + rows, from == 0, ends), ids(tokens, from, to));
            assertArrayEquals(
                last(owned.post(server, "models/plain/infer", all), rows, to),
                last(owned.post(server, "models/decoder/infer", next), rows, length),
                TOLERANCE,
                "%d rows, tokens %d to %d".formatted(rows, from, to));
            from = to;
          }
        }
      }
    }
  }

  /**
   * A server that stops in the middle of it leaves a checkpoint of a cache that has grown. The job
   * has more items than can be done while the test lasts, so it is in its middle whenever that is.
   */
  @Test
  void jobOfADecoder_goesOnFromItsCheckpoint_asOneSequence() throws Exception {
    try (OwnedRepository owned = new OwnedRepository(folder.resolve("job"))) {
      TestModels.write(StatefulModels.decoder(), owned.path("decoder/1/model.onnx"));
      owned.text(
          "decoder/pipelane.yaml",
          "state:\n  present_key: past_key\n  present_value: past_value\n");
      int[][] tokens = tokens(1);
      List<String> items = new ArrayList<>();
      for (int at = 0; at < tokens[0].length; at++) {
        items.add(ids(tokens, at, at + 1));
      }
      Path jobs = Files.createDirectories(folder.resolve("jobs"));
      Files.write(
          jobs.resolve("in.jsonl"), items.stream().map("{\"inputs\":[%s]}"::formatted).toList());
      Map<String, String> settings =
          Map.of("jobs.folder", jobs.toString(), "jobs.checkpoint-iterations", "3");
      String id;
      try (PipelaneServer server = owned.start(settings)) {
        String job =
            "{\"model\":\"decoder\",\"input_file\":\"in.jsonl\",\"output_file\":\"out\",\"repeat\":1000000}";
        id = JSON.readTree(owned.post(server, "jobs", job).body()).path("id").asText();
        awaitItems(owned, server, id, 1);
      }
      Path partial = jobs.resolve("out." + id + ".partial");
      int before = Files.readAllLines(partial).size();
      assertTrue(before > 0 && hasCheckpoint(jobs.resolve(".jobs").resolve(id)), before + " rows");
      try (PipelaneServer server = owned.start(settings)) {
        assertNotEquals(0, job(owned, server, id).path("items_done").asLong(), "it began anew");
        awaitItems(owned, server, id, before + 2 * items.size());
      }
      List<String> rows = Files.readAllLines(partial);
      assertTrue(rows.size() >= before + 2 * items.size(), rows.size() + " rows");
      try (PipelaneServer server = owned.start(Map.of())) { // Without the job.
        for (int i = 0; i < rows.size(); i++) {
          String next = body(step("s", i == 0, false), items.get(i % items.size()));
          JsonNode row = JSON.readTree(rows.get(i)).path("response").path("outputs").path(0);
          assertArrayEquals(
              output(owned.post(server, "models/decoder/infer", next), "logits"),
              numbers(row),
              TOLERANCE,
              "item %d, and %d were done before".formatted(i, before));
        }
      }
    }
  }

  private static void awaitItems(
      OwnedRepository owned, PipelaneServer server, String id, long count) throws Exception {
    while (job(owned, server, id).path("items_done").asLong() < count) {
      Thread.onSpinWait();
    }
  }

  private static boolean hasCheckpoint(Path job) throws IOException {
    try (Stream<Path> files = Files.list(job)) {
      return files.anyMatch(file -> String.valueOf(file.getFileName()).startsWith("state-"));
    }
  }

  private static JsonNode job(OwnedRepository owned, PipelaneServer server, String id)
      throws Exception {
    JsonNode job = JSON.readTree(owned.get(server, "jobs/" + id).body());
    assertNotEquals("FAILED", job.path("state").asText(), job.toString());
    return job;
  }

  private static int[][] tokens(int rows) {
    Random random = new Random(rows);
    int count = Arrays.stream(LENGTHS).sum();
    return IntStream.range(0, rows)
        .mapToObj(_ -> random.ints(count, 0, StatefulModels.TOKENS).toArray())
        .toArray(int[][]::new);
  }

  @ParameterizedTest
  @ValueSource(strings = {"thread", "process"})
  void speechDetector_answersAsWithTheStateSentAlong(String isolation) throws Exception {
    Path file = folder.resolve("detector-" + isolation + ".onnx");
    TestModels.write(StatefulModels.speechDetector(), file);
    checkDetector(isolation, file, StatefulModels.UNITS, 64, List.of(16_000, 8_000));
  }

  /**
   * Silero's own detector; skipped where {@code NODE_PATH} does not lead to it ({@code npm install
   * @ricky0123/vad-web}).
   */
  @ParameterizedTest
  @ValueSource(strings = {"thread", "process"})
  void sileroDetector_answersAsWithTheStateSentAlong(String isolation) throws Exception {
    Optional<Path> file =
        Stream.of(Objects.requireNonNullElse(System.getenv("NODE_PATH"), "").split(":"))
            .map(modules -> Path.of(modules, "@ricky0123/vad-web/dist/silero_vad_v5.onnx"))
            .filter(Files::isRegularFile)
            .findFirst();
    assumeTrue(file.isPresent(), "NODE_PATH has no @ricky0123/vad-web");
    checkDetector(isolation, file.orElseThrow(), 128, 576, List.of(16_000));
  }

  private static void checkDetector(
      String isolation, Path file, int units, int samples, List<Integer> rates) throws Exception {
    Path models = folder.resolve(file.getFileName() + isolation);
    try (OwnedRepository owned = new OwnedRepository(models)) {
      for (String model : List.of("speech", "plain")) {
        Files.createDirectories(owned.path(model + "/1"));
        Files.copy(file, owned.path(model + "/1/model.onnx"));
      }
      owned.text("speech/pipelane.yaml", "state: {stateN: state}\n");
      try (PipelaneServer server = owned.start(Map.of("workers.isolation", isolation))) {
        for (int rows : List.of(1, 2)) {
          for (int rate : rates) {
            String sr = input("sr", "INT64", List.of(), Integer.toString(rate));
            String state = zeros(2 * rows * units);
            for (int i = 0; i < 4; i++) {
              String heard = heard(rows, samples, i);
              String kept = input("state", "FP32", List.of(2, rows, units), state);
              String next = body(step("s" + rows + rate, i == 0, i == 3), heard, sr);
              HttpResponse<String> expected =
                  owned.post(server, "models/plain/infer", body("", heard, kept, sr));
              assertArrayEquals(
                  output(expected, "output"),
                  output(owned.post(server, "models/speech/infer", next), "output"),
                  TOLERANCE,
                  "step " + i);
              state = joined(output(expected, "stateN"));
            }
          }
        }
      }
    }
  }

  private static String heard(int rows, int samples, int seed) {
    double[] all = new Random(seed).doubles((long) rows * samples, -1, 1).toArray();
    return input("input", "FP32", List.of(rows, samples), joined(all));
  }

  private static String zeros(int count) {
    return joined(new double[count]);
  }

  private static String joined(double[] numbers) {
    List<String> texts = new ArrayList<>();
    for (double number : numbers) {
      texts.add(Double.toString(number));
    }
    return String.join(",", texts);
  }
}
