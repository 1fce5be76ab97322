package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.lanes.TestDevices;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.SharedCache;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A server with two devices, over HTTP. */
@Timeout(120)
class SeveralDevicesTest {
  private static final int MODELS = 4;
  private static final int WIDTH = 32;

  @TempDir private Path folder;

  @BeforeEach
  void writeModels() throws IOException {
    for (int seed = 0; seed < MODELS; seed++) {
      TestModels.write(
          TestModels.chain(4, WIDTH, seed), folder.resolve("models/m" + seed + "/1/model.onnx"));
    }
  }

  private PipelaneServer start(String isolation) {
    Map<String, String> settings = TwoDevices.settings("32KiB", MODELS / 2);
    settings.put("repository.path", folder.resolve("models").toString());
    settings.put("repository.cache", SharedCache.folder().toString());
    settings.put("workers.isolation", isolation);
    settings.put("server.http-port", "0");
    PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(settings));
    server.imports().join();
    return server;
  }

  private static HttpResponse<String> get(HttpClient client, PipelaneServer server, String path)
      throws IOException, InterruptedException {
    return client.send(
        HttpRequest.newBuilder(URI.create(server.url() + path)).build(), BodyHandlers.ofString());
  }

  private static String infer(HttpClient client, PipelaneServer server, int model)
      throws IOException, InterruptedException {
    List<String> ones = new ArrayList<>();
    for (int i = 0; i < WIDTH; i++) {
      ones.add("1");
    }
    String body =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,%d],\"data\":[%s]}]}"
            .formatted(WIDTH, String.join(",", ones));
    HttpResponse<String> answer =
        client.send(
            HttpRequest.newBuilder(URI.create(server.url() + "/v2/models/m" + model + "/infer"))
                .POST(BodyPublishers.ofString(body))
                .build(),
            BodyHandlers.ofString());
    assertEquals(200, answer.statusCode(), answer.body());
    return answer.body();
  }

  /** Each has half of the models, and has been asked for each of them once. */
  private static void assertNamedEverywhere(HttpClient client, PipelaneServer server)
      throws IOException, InterruptedException {
    assertEquals(
        Set.of(TwoDevices.first(server), TwoDevices.second(server)),
        server.devices().memory().keySet());
    String metrics = get(client, server, "/metrics").body();
    for (String device : List.of(TwoDevices.first(server), TwoDevices.second(server))) {
      String label = "{device=\"" + device + "\"}";
      assertTrue(metrics.contains("pipelane_device_usable" + label + " 1.0"), metrics);
      assertTrue(metrics.contains("pipelane_models" + label + " 2.0"), metrics);
      assertTrue(metrics.contains("pipelane_routed_requests_total" + label + " 2.0"), metrics);
    }
    String state = get(client, server, "/v2/pipelane/state").body();
    assertTrue(
        state.contains("\"weights\":{\"device\":\"" + TwoDevices.second(server) + "\""), state);
    assertTrue(
        state.contains("{\"name\":\"" + TwoDevices.second(server) + "\",\"usable\":true"), state);
    server.devices().verify();
  }

  @ParameterizedTest
  @ValueSource(strings = {"thread", "process"})
  void devicesShareTheModels_oneIsLostUnderLoad_everyRequestIsAnswered(String isolation)
      throws Exception {
    try (PipelaneServer server = start(isolation);
        HttpClient client = HttpClient.newHttpClient()) {
      List<String> expected = new ArrayList<>();
      for (int model = 0; model < MODELS; model++) {
        expected.add(infer(client, server, model));
      }
      assertNamedEverywhere(client, server);
      AtomicBoolean over = new AtomicBoolean();
      AtomicInteger answered = new AtomicInteger();
      List<Future<?>> clients = new ArrayList<>();
      try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
        for (int c = 0; c < 4; c++) {
          Random random = new Random(c);
          clients.add(
              threads.submit(
                  () -> {
                    while (!over.get()) {
                      int model = random.nextInt(MODELS);
                      assertSameAnswer(expected.get(model), infer(client, server, model));
                      answered.incrementAndGet();
                    }
                    return null;
                  }));
        }
        try {
          await(answered, 100, clients);
          int lanes = server.devices().lanes();
          server.devices().lose(TwoDevices.second(server));
          assertEquals(lanes / 2, server.devices().lanes());
          await(answered, answered.get() + 200, clients);
        } finally {
          over.set(true);
        }
        for (Future<?> each : clients) {
          each.get();
        }
      }
      assertEquals(200, get(client, server, "/v2/health/ready").statusCode());
      String metrics = get(client, server, "/metrics").body();
      assertTrue(
          metrics.contains(
              "pipelane_device_usable{device=\"" + TwoDevices.second(server) + "\"} 0.0"),
          metrics);
      assertEquals(
          List.of(TwoDevices.first(server)), server.devices().devices(new ModelVersion("m1", 1)));

      server.devices().lose(TwoDevices.first(server));
      assertEquals(503, get(client, server, "/v2/health/ready").statusCode());
      assertThrows(IllegalArgumentException.class, () -> server.devices().lose("gpu:7"));
    }
  }

  /** Bit by bit on a processor; a GPU may choose other products where a session is built anew. */
  private static void assertSameAnswer(String expected, String actual) throws IOException {
    if (TestDevices.ON_GPU) {
      Tf32.assertClose(values(expected), values(actual), "another device's answer");
    } else {
      assertEquals(expected, actual);
    }
  }

  private static float[] values(String answer) throws IOException {
    ObjectMapper json = new ObjectMapper();
    return json.treeToValue(json.readTree(answer).at("/outputs/0/data"), float[].class);
  }

  private static void await(AtomicInteger count, int atLeast, List<Future<?>> clients) {
    while (count.get() < atLeast && clients.stream().noneMatch(Future::isDone)) {
      Thread.onSpinWait();
    }
  }
}
