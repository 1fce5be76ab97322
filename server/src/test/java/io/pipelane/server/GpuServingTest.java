package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.driver.CudaDriver;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.server.catalog.ModelCatalog.State;
import io.pipelane.switcher.InferenceRequest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The server on a GPU gives the answers that it gives on the CPU. */
@Tag("gpu")
@Timeout(300)
class GpuServingTest {
  private static final int WIDTH = 256;
  private static final ModelVersion MODEL = new ModelVersion("chain", 1);
  private static final String JSON_LENGTH = "Inference-Header-Content-Length";

  @TempDir private Path folder;

  @Test
  void infer_coldWarmAndCaptured_equalsTheCpu() throws Exception {
    String library = System.getenv("ORT_LIB_DIR");
    Assumptions.assumeTrue(library != null, "ORT_LIB_DIR names no ONNX Runtime for CUDA");
    skipWithoutDriver();
    Path version = Files.createDirectories(folder.resolve("repository/chain/1"));
    TestModels.write(TestModels.chain(8, WIDTH, 1), version.resolve("model.onnx"));

    float[] expected;
    try (PipelaneServer server = start(Map.of("device.kind", "cpu"))) {
      expected = ask(server);
    }
    try (PipelaneServer server =
        start(Map.of("device.kind", "cuda:0", "runtime.library", String.valueOf(library)))) {
      // A session that is being built keeps captures from being made meanwhile.
      Patience.begin()
          .awaitTrue(
              "captured for its shape",
              () -> {
                Tf32.assertClose(expected, ask(server), "before it is captured");
                return notes(server).contains("captured for x [8,256]");
              });
      Tf32.assertClose(expected, ask(server), "captured");
      server.devices().evict(MODEL);
      Tf32.assertClose(expected, ask(server), "captured, after eviction");
      server.devices().verify();
    }
  }

  private static String notes(PipelaneServer server) {
    return server.catalog().index().getFirst().notes().toString();
  }

  @Test
  void infer_batchesOfABucket_equalTheCpuAndShareItsCapture() throws Exception {
    String library = System.getenv("ORT_LIB_DIR");
    Assumptions.assumeTrue(library != null, "ORT_LIB_DIR names no ONNX Runtime for CUDA");
    skipWithoutDriver();
    Path model = folder.resolve("repository/chain");
    Path version = Files.createDirectories(model.resolve("1"));
    TestModels.write(TestModels.chain(8, WIDTH, 1), version.resolve("model.onnx"));
    Files.writeString(model.resolve("pipelane.yaml"), "buckets: [2, 8]\n");

    List<float[]> expected = new ArrayList<>();
    try (PipelaneServer server = start(Map.of("device.kind", "cpu"))) {
      for (int rows = 1; rows <= 9; rows++) {
        expected.add(ask(server, rows));
      }
    }
    try (PipelaneServer server =
        start(Map.of("device.kind", "cuda:0", "runtime.library", String.valueOf(library)))) {
      for (int round = 0; round < 3; round++) {
        for (int rows = 1; rows <= 9; rows++) {
          Tf32.assertClose(expected.get(rows - 1), ask(server, rows), rows + " rows");
        }
      }
      server.devices().verify();
    }
  }

  @Test
  void infer_largeTensorsOverHttp_equalTheCpu() throws Exception {
    String library = System.getenv("ORT_LIB_DIR");
    Assumptions.assumeTrue(library != null, "ORT_LIB_DIR names no ONNX Runtime for CUDA");
    skipWithoutDriver();
    Path version = Files.createDirectories(folder.resolve("repository/chain/1"));
    TestModels.write(TestModels.chain(8, WIDTH, 1), version.resolve("model.onnx"));
    int[] rows = {2048, 65, 1000, 4096};
    List<float[]> expected = new ArrayList<>();
    try (PipelaneServer server = start(Map.of("device.kind", "cpu"))) {
      for (int count : rows) {
        expected.add(ask(server, count));
      }
    }
    try (PipelaneServer server =
            start(Map.of("device.kind", "cuda:0", "runtime.library", String.valueOf(library)));
        HttpClient client = HttpClient.newHttpClient()) {
      for (int round = 0; round < 6; round++) {
        List<CompletableFuture<float[]>> answers = new ArrayList<>();
        for (int count : rows) {
          answers.add(askOverHttp(client, server, count));
        }
        for (int i = 0; i < rows.length; i++) {
          Tf32.assertClose(
              expected.get(i), answers.get(i).get(), rows[i] + " rows, round " + round);
        }
      }
      server.devices().verify();
    }
  }

  private static CompletableFuture<float[]> askOverHttp(
      HttpClient client, PipelaneServer server, int rows) {
    ByteBuffer input = ByteBuffer.allocate(rows * WIDTH * Float.BYTES);
    input.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().put(input(rows));
    byte[] json =
        ("{\"inputs\":[{\"name\":\"x\",\"shape\":[%d,%d],\"datatype\":\"FP32\",\"parameters\":"
                + "{\"binary_data_size\":%d}}],\"parameters\":{\"binary_data_output\":true}}")
            .formatted(rows, WIDTH, input.capacity())
            .getBytes(StandardCharsets.UTF_8);
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server.url() + "/v2/models/chain/infer"))
            .header(JSON_LENGTH, Integer.toString(json.length))
            .POST(BodyPublishers.ofByteArrays(List.of(json, input.array())))
            .build();
    return client
        .sendAsync(request, BodyHandlers.ofByteArray())
        .thenApply(GpuServingTest::binaryFloats);
  }

  private static float[] binaryFloats(HttpResponse<byte[]> response) {
    byte[] body = response.body();
    assertEquals(200, response.statusCode(), () -> new String(body, StandardCharsets.UTF_8));
    int start = (int) response.headers().firstValueAsLong(JSON_LENGTH).orElseThrow();
    float[] values = new float[(body.length - start) / Float.BYTES];
    ByteBuffer.wrap(body, start, body.length - start)
        .order(ByteOrder.LITTLE_ENDIAN)
        .asFloatBuffer()
        .get(values);
    return values;
  }

  private static float[] input(int rows) {
    float[] values = new float[rows * WIDTH];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) Math.sin(i);
    }
    return values;
  }

  private static void skipWithoutDriver() {
    try {
      CudaDriver.load();
    } catch (StatusException e) {
      Assumptions.abort("no GPU: " + e.getMessage());
    }
  }

  private PipelaneServer start(Map<String, String> device) {
    Map<String, String> values = new HashMap<>(device);
    values.put("repository.path", folder.resolve("repository").toString());
    values.put("repository.cache", folder.resolve("cache").toString());
    values.put("device.memory", "128MiB");
    values.put("server.http-port", "0");
    PipelaneServer server = PipelaneServer.start(PipelaneConfig.of(values));
    server.imports().join();
    assertEquals(
        State.READY,
        server.catalog().index().getFirst().state(),
        () -> server.catalog().index().toString());
    return server;
  }

  private static float[] ask(PipelaneServer server) throws Exception {
    return ask(server, 8);
  }

  private static float[] ask(PipelaneServer server, int rows) throws Exception {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment input = arena.allocateFrom(ValueLayout.JAVA_FLOAT, input(rows));
      AwaitedResult result = new AwaitedResult(arena);
      server
          .devices()
          .submit(
              new InferenceRequest(
                  MODEL,
                  List.of(new InputTensor("x", TensorType.FP32, Shape.of(rows, WIDTH), input)),
                  List.of("y")),
              result);
      return result.floats();
    }
  }
}
