package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.ActiveWorker;
import io.pipelane.lanes.process.ProcessSessionFactory;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.kept.Keeper;
import io.pipelane.switcher.kept.KeptOverview;
import io.pipelane.switcher.kept.KeptTensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Outputs that stay on the device, read there by the next run: bit by bit what comes of the same
 * tensors by way of the host.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("NullAway.Init") // open() fills the fields.
class KeptRunsTest {
  private static final int WIDTH = 64;

  /** What a worker on a GPU writes past the host. */
  private static final int ROWS = 2 << 10;

  private static final long BYTES = (long) ROWS * WIDTH * Float.BYTES;
  private static final long WEIGHTS = TestDevices.ON_GPU ? 32 << 20 : 16L * WIDTH * WIDTH * 4;
  private static final int CHAIN = 5;

  @TempDir Path folder;
  private final Device device = TestDevices.open(WEIGHTS, 16 << 10);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private SessionFactory sessions;
  private Switcher switcher;
  private ImportedModel model;

  @BeforeEach
  void open() throws Exception {
    sessions =
        TestDevices.IN_WORKERS
            ? TestDevices.workers(
                (SharedDevice) device,
                new TestWorkers(1).lanes(4).hangTimeout(Duration.ofSeconds(30)))
            : TestDevices.sessions(device, memory);
    switcher =
        new Switcher(
            device,
            memory,
            sessions,
            SwitcherSettings.of(
                    WEIGHTS,
                    TestDevices.ON_GPU ? 4L << 30 : 64 << 20,
                    2,
                    1_000,
                    64 << 20,
                    new EqualBytesGrouping(4, 1))
                .withKeptBytes(4 * BYTES),
            ReadWeights::of);
    model = TestImports.of(sums(), "m", folder);
    switcher.register(model);
  }

  @AfterEach
  void everythingIsGivenBack() {
    assertEquals(0, switcher.kept().lentBytes());
    switcher.verify();
    switcher.close();
    assertEquals(0, device.persistent().usedBytes());
    device.close();
  }

  /** {@code y = x w + x}: no operator has a choice of algorithms. */
  private static ModelProto sums() {
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(TestModels.batch("x", WIDTH))
            .addInitializer(TestModels.weight("w", new Random(1), 1, WIDTH))
            .addNode(TestModels.node("Mul", List.of("x", "w"), "h"))
            .addNode(TestModels.node("Add", List.of("h", "x"), "y"))
            .addOutput(TestModels.batch("y", WIDTH)));
  }

  private static InputTensor input() {
    float[] x = new float[ROWS * WIDTH];
    for (int i = 0; i < x.length; i++) {
      x[i] = (i * 31 % 127) / 64f - 1;
    }
    MemorySegment data = Arena.ofAuto().allocate(BYTES, 64);
    data.copyFrom(MemorySegment.ofArray(x));
    return new InputTensor("x", TensorType.FP32, Shape.of(ROWS, WIDTH), data);
  }

  /** One run, whose output stays if it may. */
  private final class Run implements ResultHandler, Keeper {
    private final CompletableFuture<InputTensor> end = new CompletableFuture<>();
    private @Nullable KeptTensor kept;
    private @Nullable InputTensor output;

    InputTensor of(InputTensor x, boolean mayKeep) {
      InferenceService.Ticket _ =
          switcher.submit(
              new InferenceRequest(model.version(), List.of(x), List.of("y"))
                  .at(RunPlace.ANY.keeping(mayKeep ? Optional.of(this) : Optional.empty())),
              this);
      return end.join();
    }

    void close() {
      if (kept != null) {
        kept.close();
      }
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      output = new InputTensor("x", type, shape, Arena.ofAuto().allocate(byteSize, 64));
      return output.data();
    }

    @Override
    public Set<ModelVersion> readers(String on, String name) {
      assertEquals(device.name(), on);
      return Set.of(model.version());
    }

    @Override
    public void keep(String name, TensorType type, Shape shape, KeptTensor tensor) {
      close();
      kept = tensor;
      output = tensor.input("x", type, shape);
    }

    @Override
    public void completed(InferenceTimings timings) {
      end.complete(output);
    }

    @Override
    public void failed(StatusException error) {
      end.completeExceptionally(error);
    }
  }

  private float[] chain(boolean mayKeep, Runnable between) {
    InputTensor x = input();
    Run before = new Run();
    for (int i = 0; i < CHAIN; i++) {
      Run run = new Run();
      x = run.of(x, mayKeep && i < CHAIN - 1);
      before.close();
      before = run;
      between.run();
    }
    return x.data().toArray(ValueLayout.JAVA_FLOAT);
  }

  @Test
  void chain_onTheDevice_isBitByBitThatByTheHost() {
    float[] expected = chain(false, () -> {});
    for (int round = 0; round < 10; round++) { // Captured within these, where that is done.
      assertArrayEquals(expected, chain(true, () -> {}), "round " + round);
    }
    KeptOverview kept = switcher.kept();
    assertEquals(10 * (CHAIN - 1), kept.tensors(), kept::toString);
    assertEquals(2 * BYTES, kept.takenBytes(), "two at a time, used again");
    assertTrue(kept.notKept().isEmpty(), kept::toString);
  }

  @Test
  void chain_whoseWorkerIsKilledTwice_readsWhatItHasLeft() {
    killInChain(2);
  }

  @Test
  @Tag("long")
  void chain_whoseWorkerIsKilledAfterEachRun_readsWhatItHasLeft() {
    killInChain(CHAIN);
  }

  /** Kills as often, after the first runs. */
  private void killInChain(int kills) {
    assumeTrue(TestDevices.IN_WORKERS, "there are no workers");
    ProcessSessionFactory workers = (ProcessSessionFactory) sessions;
    float[] expected = chain(false, () -> {});
    AtomicInteger left = new AtomicInteger(kills);
    Runnable between =
        () -> {
          if (left.getAndDecrement() > 0) {
            ActiveWorker.kill(workers);
          }
        };
    assertArrayEquals(expected, chain(true, between));
    assertEquals(kills, workers.workers().lost());
    assertEquals(CHAIN - 1, switcher.kept().tensors());
  }

  /** Rows that are alike make rows that are alike: neither lies on another. */
  @Test
  void tensors_keptAtATime_lieApart() {
    Run first = new Run();
    InputTensor one = first.of(input(), true);
    Run second = new Run();
    InputTensor two = second.of(one, true);
    float[] expected = new Run().of(one, false).data().toArray(ValueLayout.JAVA_FLOAT);
    float[] again = new Run().of(two, false).data().toArray(ValueLayout.JAVA_FLOAT);
    assertTrue(!Arrays.equals(expected, again));
    assertArrayEquals(expected, new Run().of(one, false).data().toArray(ValueLayout.JAVA_FLOAT));
    first.close();
    second.close();
  }

  @Test
  void tensorsBeyondTheLimit_goByTheHost() {
    Run[] runs = new Run[6];
    for (int i = 0; i < runs.length; i++) {
      runs[i] = new Run();
      runs[i].of(input(), true);
    }
    assertEquals(4 * BYTES, switcher.kept().lentBytes());
    assertEquals(2, switcher.kept().notKept().get(KeptOverview.Obstacle.FULL));
    for (Run run : runs) {
      run.close();
    }
  }
}
