package io.pipelane.server.ensemble;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.TestDevices;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.PipelaneServer;
import io.pipelane.server.catalog.LoadOptions;
import io.pipelane.switcher.kept.KeptOverview;
import java.io.IOException;
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
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An ensemble on a device, asked over HTTP. */
@Timeout(60)
class EnsembleServingTest {
  private static final int WIDTH = 32;

  /** Its last step stands first, and what that takes is answered, too. */
  private static final String TRITONS =
      """
      platform: "ensemble"
      max_batch_size: 8
      input { name: "input" data_type: TYPE_FP32 dims: [ 32 ] }
      output { name: "output" data_type: TYPE_FP32 dims: [ 32 ] }
      output { name: "between" data_type: TYPE_FP32 dims: [ 32 ] }
      ensemble_scheduling {
        step {
          model_name: "second"
          model_version: -1
          input_map { key: "x" value: "between" }
          output_map { key: "y" value: "output" }
        }
        step {
          model_name: "first"
          model_version: -1
          input_map { key: "x" value: "input" }
          output_map { key: "y" value: "between" }
        }
      }
      """;

  @TempDir private Path folder = Path.of("");

  private static HttpResponse<byte[]> post(HttpClient client, String url, byte[] body)
      throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url))
            .header("Inference-Header-Content-Length", "0")
            .POST(BodyPublishers.ofByteArray(body))
            .build();
    return client.send(request, BodyHandlers.ofByteArray());
  }

  private static String get(HttpClient client, String url) throws Exception {
    HttpResponse<String> answer =
        client.send(HttpRequest.newBuilder(URI.create(url)).build(), BodyHandlers.ofString());
    return answer.statusCode() + " " + answer.body();
  }

  /** The tensor that an answer consists of. */
  private static byte[] tensor(HttpResponse<byte[]> answer) {
    assertEquals(200, answer.statusCode(), () -> new String(answer.body(), StandardCharsets.UTF_8));
    int json =
        answer
            .headers()
            .firstValue("Inference-Header-Content-Length")
            .map(Integer::parseInt)
            .orElseThrow();
    return Arrays.copyOfRange(answer.body(), json, answer.body().length);
  }

  private Map<String, String> settings(Path repository, Map<String, String> more) {
    Map<String, String> settings =
        new HashMap<>(
            Map.of(
                "repository.path",
                repository.toString(),
                "repository.cache",
                SharedCache.folder().toString(),
                "device.memory",
                "8MiB",
                "server.http-port",
                "0"));
    settings.putAll(more);
    return TestDevices.settings(settings);
  }

  private Path chain() throws IOException {
    Path repository = folder.resolve("repository");
    for (int step = 1; step <= 3; step++) {
      Path file = repository.resolve("step" + step + "/1/model.onnx");
      TestModels.write(TestModels.chain(2, WIDTH, step), file);
      Files.writeString(
          repository.resolve("step" + step + "/pipelane.yaml"), "batching: {mode: never}\n");
    }
    Files.createDirectories(repository.resolve("all"));
    Files.writeString(
        repository.resolve("all/pipelane.yaml"),
        """
        ensemble:
          steps:
            - {model: step1, inputs: {x: input}, outputs: {y: first}}
            - {model: step2, inputs: {x: first}, outputs: {y: second}}
            - {model: step3, inputs: {x: second}, outputs: {y: output}}
        """);
    return repository;
  }

  private static byte[] rows(int rows, int seed) {
    byte[] input = new byte[rows * WIDTH * Float.BYTES];
    for (int i = 2; i < input.length; i += Float.BYTES) {
      input[i] = (byte) (i * 31 + seed);
      input[i + 1] = 0x3f;
    }
    return input;
  }

  private static KeptOverview kept(PipelaneServer server, String device) {
    return Objects.requireNonNull(server.devices().states().get(device)).kept();
  }

  /** Large tensors stay on the device; nothing of them is left after any of the requests. */
  @Test
  void load_thatIsRefused_leavesTheEnsembleInService() throws Exception {
    try (PipelaneServer server =
        PipelaneServer.start(PipelaneConfig.of(settings(chain(), Map.of())))) {
      server.imports().join();
      Map<String, byte[]> files = Map.of("1/model.onnx", new byte[1]);
      LoadOptions refused = new LoadOptions(Optional.empty(), Optional.of("{}"), files);
      assertThrows(CompletionException.class, () -> server.catalog().load("all", refused).join());
      assertEquals("input", server.catalog().resolve("all", "").inputs().getFirst().name());
    }
  }

  @Test
  void load_ofAModelThatHasBecomeAnEnsemble_givesItsMemoryBack_andTheOtherWayRound()
      throws Exception {
    Path repository = chain();
    Path model = repository.resolve("turns/1/model.onnx");
    Path aside = folder.resolve("turns.onnx");
    TestModels.write(TestModels.chain(2, WIDTH, 7), model);
    try (PipelaneServer server =
        PipelaneServer.start(PipelaneConfig.of(settings(repository, Map.of())))) {
      server.imports().join();
      assertEquals(4, server.switcher().memory().weights().entries().size());
      Files.move(model, aside);
      Files.delete(model.getParent());
      Path ensemble = repository.resolve("turns/pipelane.yaml");
      Files.copy(repository.resolve("all/pipelane.yaml"), ensemble);
      server.catalog().load("turns").join();
      assertEquals("input", server.catalog().resolve("turns", "").inputs().getFirst().name());
      assertEquals(3, server.switcher().memory().weights().entries().size());
      Files.delete(ensemble);
      Files.createDirectory(model.getParent());
      Files.move(aside, model);
      server.catalog().load("turns").join();
      assertEquals("x", server.catalog().resolve("turns", "").inputs().getFirst().name());
      server.switcher().verify();
    }
  }

  @Test
  void largeTensors_stayOnTheDevice_andAnswersAreTheSame() throws Exception {
    int rows = 4 << 10; // 512 KiB.
    try (HttpClient client = HttpClient.newHttpClient();
        PipelaneServer server =
            PipelaneServer.start(PipelaneConfig.of(settings(chain(), Map.of())));
        ExecutorService callers = Executors.newFixedThreadPool(4)) {
      server.imports().join();
      String models = server.url() + "/v2/models/";
      byte[] expected = rows(rows, 0);
      for (int step = 1; step <= 3; step++) {
        expected = tensor(post(client, models + "step" + step + "/infer", expected));
      }
      List<Future<byte[]>> answers = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        answers.add(
            callers.submit(() -> tensor(post(client, models + "all/infer", rows(rows, 0)))));
      }
      for (Future<byte[]> answer : answers) {
        assertArrayEquals(expected, answer.get());
      }
      String device = server.devices().states().keySet().iterator().next();
      KeptOverview kept = kept(server, device);
      assertEquals(80, kept.tensors(), kept::toString);
      assertEquals(Map.of(), kept.notKept());
      assertEquals(0, kept.lentBytes());
      assertTrue(
          get(client, server.url() + "/metrics").contains("pipelane_kept_tensors_total{device="));
      server.devices().verify();
    }
  }

  /** The models have homes of their own: a tensor stays where its reader runs on the same one. */
  @Test
  void severalDevices_tensorsForAnotherGoByTheHost() throws Exception {
    assumeFalse(TestDevices.ON_GPU, "there is one GPU");
    int rows = 1 << 10;
    Map<String, String> two = Map.of("device.kind", "cpu:0,1", "placement.replicas", "false");
    try (HttpClient client = HttpClient.newHttpClient();
        PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(settings(chain(), two)))) {
      server.imports().join();
      String models = server.url() + "/v2/models/";
      byte[] expected = rows(rows, 1);
      for (int step = 1; step <= 3; step++) {
        expected = tensor(post(client, models + "step" + step + "/infer", expected));
      }
      for (int i = 0; i < 10; i++) {
        assertArrayEquals(expected, tensor(post(client, models + "all/infer", rows(rows, 1))));
      }
      List<KeptOverview> kept =
          server.devices().states().values().stream().map(state -> state.kept()).toList();
      assertEquals(2, kept.size());
      long stayed = kept.stream().mapToLong(KeptOverview::tensors).sum();
      long moved =
          kept.stream()
              .mapToLong(of -> of.notKept().getOrDefault(KeptOverview.Obstacle.ELSEWHERE, 0L))
              .sum();
      assertEquals(20, stayed + moved, kept::toString);
      assertTrue(moved >= 10, "three models on two devices, in whatever order: " + kept);
      server.devices().verify();
    }
  }

  @Test
  void withoutMemoryForThem_tensorsGoByTheHost() throws Exception {
    Map<String, String> none = Map.of("device.ensemble-memory", "0B");
    try (HttpClient client = HttpClient.newHttpClient();
        PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(settings(chain(), none)))) {
      server.imports().join();
      byte[] _ = tensor(post(client, server.url() + "/v2/models/all/infer", rows(1 << 10, 2)));
      String device = server.devices().states().keySet().iterator().next();
      assertEquals(KeptOverview.NONE, kept(server, device));
    }
  }

  @Test
  void ensemble_answersAsItsModelsOneAfterAnother() throws Exception {
    Path repository = folder.resolve("repository");
    TestModels.write(TestModels.chain(2, WIDTH, 1), repository.resolve("first/1/model.onnx"));
    TestModels.write(TestModels.chain(3, WIDTH, 2), repository.resolve("second/1/model.onnx"));
    Files.createDirectories(repository.resolve("both"));
    Files.writeString(
        repository.resolve("both/pipelane.yaml"),
        """
        ensemble:
          steps:
            - {model: first, inputs: {x: input}, outputs: {y: between}}
            - {model: second, inputs: {x: between}, outputs: {y: output}}
        """);
    Path tritons = Files.createDirectories(repository.resolve("tritons/1"));
    Files.writeString(tritons.resolveSibling("config.pbtxt"), TRITONS);
    try (HttpClient client = HttpClient.newHttpClient();
        PipelaneServer server =
            PipelaneServer.start(PipelaneConfig.of(settings(repository, Map.of())))) {
      server.imports().join();
      String models = server.url() + "/v2/models/";
      byte[] input = rows(2, 0);
      byte[] between = tensor(post(client, models + "first/infer", input));
      byte[] expected = tensor(post(client, models + "second/infer", between));
      assertTrue(
          Arrays.equals(expected, tensor(post(client, models + "both/infer", input))),
          "the same kernels on the same numbers");

      HttpResponse<byte[]> ofTriton = post(client, models + "tritons/infer", input);
      byte[] both = tensor(ofTriton);
      assertTrue(
          Arrays.equals(expected, Arrays.copyOf(both, expected.length))
              && Arrays.equals(between, Arrays.copyOfRange(both, expected.length, both.length)),
          "what the last step makes, and what it takes");
      String config = get(client, models + "tritons/config");
      assertTrue(config.contains("\"platform\":\"ensemble\""), config);
      assertEquals(400, post(client, models + "tritons/infer", rows(9, 0)).statusCode());

      config = get(client, models + "both/config");
      assertTrue(config.contains("\"platform\":\"ensemble\",\"backend\":\"\""), config);
      assertTrue(config.contains("\"default_model_filename\":\"\""), config);
      assertTrue(
          config.contains(
              "\"ensemble_scheduling\":{\"step\":[{\"model_name\":\"first\",\"model_version\":-1,"
                  + "\"input_map\":{\"x\":\"input\"},\"output_map\":{\"y\":\"between\"},"),
          config);
      String metadata = get(client, models + "both");
      assertTrue(metadata.contains("\"platform\":\"ensemble\""), metadata);
      assertTrue(metadata.contains("\"name\":\"input\""), metadata);
      assertTrue(metadata.contains("\"name\":\"output\""), metadata);
      assertTrue(get(client, models + "both/ready").startsWith("200"));
      String stats = get(client, models + "first/stats");
      assertTrue(stats.contains("\"inference_count\":6,\"execution_count\":3"), stats);

      assertEquals(
          200,
          post(client, server.url() + "/v2/repository/models/second/unload", new byte[0])
              .statusCode());
      String gone = get(client, models + "both/ready");
      assertTrue(gone.startsWith("404") && gone.contains("second"), gone);
      server.devices().verify();
    }
  }
}
