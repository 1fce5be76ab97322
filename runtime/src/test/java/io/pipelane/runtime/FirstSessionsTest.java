package io.pipelane.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import ai.onnx.proto.OnnxMl.GraphProto;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A process whose first sessions are built at the same moment. */
@Timeout(60)
class FirstSessionsTest {
  private static final int THREADS = 8;

  @TempDir Path folder;

  @RepeatedTest(3)
  void open_theFirstOfAProcessAllAtOnce_allAreBuilt() throws Exception {
    Path said = folder.resolve("said");
    Process fresh =
        new ProcessBuilder(
                ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                FirstSessionsTest.class.getName(),
                folder.toString())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile())
            .start();
    assertEquals(0, fresh.waitFor(), () -> said(said));
  }

  private static String said(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Opens sessions at once; ends with an exception when one cannot be. */
  static void main(String[] arguments) throws Exception {
    CyclicBarrier together = new CyclicBarrier(THREADS);
    try (TestRuntime runtime = new TestRuntime(Path.of(arguments[0]));
        ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      Path model =
          runtime.write(
              TestRuntime.gatedModel(
                  GraphProto.newBuilder()
                      .addInput(TestModels.batch("x", 2))
                      .addNode(TestRuntime.gate(1, List.of("x"), List.of("g")))
                      .addNode(TestModels.node("Neg", List.of("g"), "y"))
                      .addOutput(TestModels.batch("y", 2))));
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        all.add(
            threads.submit(
                () -> {
                  int _ = together.await();
                  runtime.environment.open(model, SessionSettings.onDevice(1)).close();
                  return null;
                }));
      }
      for (Future<?> each : all) {
        Object _ = each.get();
      }
    }
  }
}
