package io.pipelane.server.ensemble;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.TestDevices;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.PipelaneServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An ensemble on a device, asked over HTTP. */
@Timeout(60)
class EnsembleServingTest {
  private static final int WIDTH = 32;

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
    Map<String, String> settings =
        TestDevices.settings(
            Map.of(
                "repository.path",
                repository.toString(),
                "repository.cache",
                folder.resolve("cache").toString(),
                "device.memory",
                "8MiB",
                "server.http-port",
                "0"));
    try (HttpClient client = HttpClient.newHttpClient();
        PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(settings))) {
      server.imports().join();
      String models = server.url() + "/v2/models/";
      byte[] input = new byte[2 * WIDTH * Float.BYTES];
      for (int i = 2; i < input.length; i += Float.BYTES) {
        input[i] = (byte) i;
        input[i + 1] = 0x3f;
      }
      byte[] between = tensor(post(client, models + "first/infer", input));
      byte[] expected = tensor(post(client, models + "second/infer", between));
      assertTrue(
          Arrays.equals(expected, tensor(post(client, models + "both/infer", input))),
          "the same kernels on the same numbers");

      String metadata = get(client, models + "both");
      assertTrue(metadata.contains("\"name\":\"input\""), metadata);
      assertTrue(metadata.contains("\"name\":\"output\""), metadata);
      assertTrue(get(client, models + "both/ready").startsWith("200"));
      String stats = get(client, models + "first/stats");
      assertTrue(stats.contains("\"inference_count\":4,\"execution_count\":2"), stats);

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
