package io.pipelane.server.ensemble;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.TestDevices;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.PipelaneServer;
import io.pipelane.server.TwoDevices;
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
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ensembles that span two devices, asked over HTTP. */
@Timeout(300)
class SpanningServingTest {
  private static final int CALLS = 24;
  private static final int WIDTH = 32;
  private static final int LAYERS = 4;

  /** 128 KiB, worth keeping on a device, or 512 for a GPU's workers. */
  private static final int ROWS = TestDevices.ON_GPU ? 1 << 12 : 1 << 10;

  @TempDir private Path folder = Path.of("");

  /** Two ensembles that want the devices in opposite order, with room for one part on each. */
  private PipelaneServer start(String isolation) throws IOException {
    return start(isolation, 1);
  }

  /** The same with room for so many parts on each. */
  private PipelaneServer start(String isolation, int parts) throws IOException {
    for (int i = 1; i <= 4; i++) {
      Path model = folder.resolve("models/step" + i);
      TestModels.write(TestModels.chain(LAYERS, WIDTH, i), model.resolve("1/model.onnx"));
      Files.writeString(model.resolve("pipelane.yaml"), "batching: {mode: never}\n");
    }
    declare("there", "step1", 0, "step2", 1);
    declare("back", "step3", 1, "step4", 0);
    Map<String, String> settings =
        TwoDevices.settings(parts * LAYERS * WIDTH * WIDTH * Float.BYTES + "B", parts);
    settings.put("repository.path", folder.resolve("models").toString());
    settings.put("repository.cache", SharedCache.folder().toString());
    settings.put("workers.isolation", isolation);
    settings.put("server.http-port", "0");
    PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(settings));
    server.imports().join();
    return server;
  }

  private void declare(String name, String first, int on, String second, int andOn)
      throws IOException {
    Files.createDirectories(folder.resolve("models").resolve(name));
    Files.writeString(
        folder.resolve("models").resolve(name).resolve("pipelane.yaml"),
        """
        ensemble:
          steps:
            - {model: %s, device: %d, inputs: {x: input}, outputs: {y: between}}
            - {model: %s, device: %d, inputs: {x: between}, outputs: {y: output}}
        """
            .formatted(first, on, second, andOn));
  }

  private static HttpResponse<byte[]> infer(
      HttpClient client, PipelaneServer server, String model, byte[] input) throws Exception {
    return client.send(
        HttpRequest.newBuilder(URI.create(server.url() + "/v2/models/" + model + "/infer"))
            .header("Inference-Header-Content-Length", "0")
            .POST(BodyPublishers.ofByteArray(input))
            .build(),
        BodyHandlers.ofByteArray());
  }

  private static byte[] tensor(HttpResponse<byte[]> answer) {
    assertEquals(200, answer.statusCode(), () -> new String(answer.body(), StandardCharsets.UTF_8));
    int json =
        Integer.parseInt(
            answer.headers().firstValue("Inference-Header-Content-Length").orElseThrow());
    return Arrays.copyOfRange(answer.body(), json, answer.body().length);
  }

  private static String send(HttpClient client, HttpRequest.Builder request) throws Exception {
    HttpResponse<String> answer = client.send(request.build(), BodyHandlers.ofString());
    return answer.statusCode() + " " + answer.body();
  }

  private static HttpRequest.Builder to(PipelaneServer server, String path) {
    return HttpRequest.newBuilder(URI.create(server.url() + path));
  }

  private static byte[] input() {
    byte[] input = new byte[ROWS * WIDTH * Float.BYTES];
    for (int i = 2; i < input.length; i += Float.BYTES) {
      input[i] = (byte) (i * 31);
      input[i + 1] = 0x3f;
    }
    return input;
  }

  @ParameterizedTest
  @ValueSource(strings = {"thread", "process"})
  void oppositeOrders_underLoad_everyAnswerIsThatOfTheModelsOneAfterAnother(String isolation)
      throws Exception {
    try (PipelaneServer server = start(isolation);
        HttpClient client = HttpClient.newHttpClient();
        ExecutorService callers = Executors.newFixedThreadPool(6)) {
      assertEquals(
          List.of(TwoDevices.first(server)),
          server.devices().devices(new ModelVersion("step1", 1)));
      assertEquals(
          List.of(TwoDevices.second(server)),
          server.devices().devices(new ModelVersion("step3", 1)));
      Map<String, byte[]> expected = new HashMap<>();
      for (int i = 1; i <= 3; i += 2) {
        byte[] between = tensor(infer(client, server, "step" + i, input()));
        expected.put(
            i == 1 ? "there" : "back", tensor(infer(client, server, "step" + (i + 1), between)));
      }
      List<Future<?>> calls = new ArrayList<>();
      for (int i = 0; i < CALLS; i++) {
        String name = i % 2 == 0 ? "there" : "back";
        calls.add(
            callers.submit(
                () -> {
                  assertArrayEquals(
                      expected.get(name), tensor(infer(client, server, name, input())));
                  return null;
                }));
      }
      for (Future<?> call : calls) {
        call.get();
      }
      long elsewhere =
          server.devices().states().values().stream()
              .mapToLong(
                  state -> state.kept().notKept().getOrDefault(KeptOverview.Obstacle.ELSEWHERE, 0L))
              .sum();
      assertEquals(CALLS, elsewhere, "what lies between the devices goes by the host");
      server.devices().verify();
    }
  }

  @Test
  void lostDevice_isSaidInTheIndex_andOtherModelsGoOn() throws Exception {
    try (PipelaneServer server = start("thread");
        HttpClient client = HttpClient.newHttpClient()) {
      byte[] _ = tensor(infer(client, server, "there", input()));
      String index =
          send(client, to(server, "/v2/repository/index").POST(BodyPublishers.ofString("{}")));
      assertTrue(index.contains("step1 on device 0, step2 on device 1"), index);
      byte[] expected = tensor(infer(client, server, "step2", input()));
      server.devices().lose(TwoDevices.second(server));
      assertArrayEquals(expected, tensor(infer(client, server, "step2", input())), "as any model");
      HttpResponse<byte[]> answer = infer(client, server, "there", input());
      assertEquals(503, answer.statusCode());
      String refused = new String(answer.body(), StandardCharsets.UTF_8);
      assertTrue(
          refused.contains(
              "device " + TwoDevices.second(server) + " is lost, and has a part of there"),
          refused);
      String ready = send(client, to(server, "/v2/models/there/ready"));
      assertTrue(
          !ready.startsWith("200") && ready.contains(TwoDevices.second(server) + " is lost"),
          ready);
      byte[] _ = tensor(infer(client, server, "step1", input()));
      assertArrayEquals(expected, tensor(infer(client, server, "step2", input())));
    }
  }

  @Test
  void lostDevice_itsPartHasMoved_theIndexSaysWhereItIs() throws Exception {
    Path other = folder.resolve("models/other/1/model.onnx"); // Of another graph than step1.
    TestModels.write(TestModels.chain(LAYERS - 1, WIDTH, 5), other);
    try (PipelaneServer server = start("thread", 2);
        HttpClient client = HttpClient.newHttpClient()) {
      declare("there", "step1", 0, "other", 1);
      assertTrue(
          send(client, to(server, "/v2/repository/models/there/load").POST(BodyPublishers.noBody()))
              .startsWith("200"));
      server.devices().lose(TwoDevices.second(server));
      String index =
          send(client, to(server, "/v2/repository/index").POST(BodyPublishers.ofString("{}")));
      assertTrue(
          index.contains("step1 on device 0, other on device 0, as device 1 is lost"), index);
      byte[] _ = tensor(infer(client, server, "there", input()));
    }
  }

  @Test
  void declarationThatCannotBe_saysWhy_untilItIsChanged() throws Exception {
    try (PipelaneServer server = start("thread");
        HttpClient client = HttpClient.newHttpClient()) {
      declare("third", "step1", 1, "step2", 0);
      HttpRequest.Builder load =
          to(server, "/v2/repository/models/third/load").POST(BodyPublishers.noBody());
      assertTrue(send(client, load).startsWith("200"));
      String ready = send(client, to(server, "/v2/models/third/ready"));
      assertTrue(ready.contains("is a part of there already"), ready);
      assertTrue(
          send(
                  client,
                  to(server, "/v2/repository/models/there/unload").POST(BodyPublishers.noBody()))
              .startsWith("200"));
      assertTrue(send(client, load).startsWith("200"));
      byte[] _ = tensor(infer(client, server, "third", input()));
      assertEquals(
          List.of(TwoDevices.second(server)),
          server.devices().devices(new ModelVersion("step1", 1)));
      String offline =
          send(
              client,
              to(server, "/v2/models/third/infer")
                  .POST(
                      BodyPublishers.ofString(
                          "{\"parameters\":{\"priority\":\"offline\"},\"inputs\":[{\"name\":\"input\",\"datatype\":\"FP32\",\"shape\":[1,%d],\"data\":[%s]}]}"
                              .formatted(WIDTH, "1,".repeat(WIDTH - 1) + "1"))));
      assertTrue(offline.startsWith("400") && offline.contains("spans devices"), offline);
    }
  }
}
