package io.pipelane.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
  private static final double TF32_TOLERANCE = 2e-3;

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
      for (int i = 0; i < 6; i++) {
        assertClose(expected, ask(server), "request " + i);
      }
      String notes = server.catalog().index().getFirst().notes().toString();
      assertTrue(notes.contains("captured for x [8,256]"), notes);
      server.devices().evict(MODEL);
      assertClose(expected, ask(server), "captured, after eviction");
      server.devices().verify();
    }
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
    try (Arena arena = Arena.ofShared()) {
      MemorySegment input = arena.allocate(ValueLayout.JAVA_FLOAT, 8L * WIDTH);
      for (int i = 0; i < 8 * WIDTH; i++) {
        input.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) Math.sin(i));
      }
      AwaitedResult result = new AwaitedResult(arena);
      server
          .devices()
          .submit(
              new InferenceRequest(
                  MODEL,
                  List.of(new InputTensor("x", TensorType.FP32, Shape.of(8, WIDTH), input)),
                  List.of("y")),
              result);
      return result.floats();
    }
  }

  private static void assertClose(float[] expected, float[] actual, String what) {
    assertEquals(expected.length, actual.length, what);
    double difference = 0;
    double norm = 0;
    for (int i = 0; i < expected.length; i++) {
      difference += Math.pow(actual[i] - expected[i], 2);
      norm += Math.pow(expected[i], 2);
    }
    double relative = Math.sqrt(difference / norm);
    assertTrue(relative <= TF32_TOLERANCE, () -> what + ": relative error " + relative);
  }
}
