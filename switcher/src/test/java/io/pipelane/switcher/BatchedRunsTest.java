package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests that wait for the only lane, and run as one. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BatchedRunsTest {
  private static final int WIDTH = 64;
  private static final long MODEL_BYTES = 8L * WIDTH * WIDTH * Float.BYTES;

  @TempDir Path folder;
  private final Semaphore begun = new Semaphore(0);
  private final Semaphore goOn = new Semaphore(0);
  private volatile boolean stops;

  private Switcher open(Device device) {
    return WatchedSegments.switcher(
        (CpuDevice) device,
        2 * MODEL_BYTES,
        Map.of("scheduling.preemption", "false"),
        this::before);
  }

  /** Keeps the lane with the other model's run until the test says so. */
  private void before(String model, int segment) {
    if (stops && model.equals("other") && segment == 1) {
      begun.release();
      goOn.acquireUninterruptibly();
    }
  }

  /** {@code y = table[x]}: an index beyond its 64 rows fails while the model runs. */
  private static ModelProto lookup() {
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", TensorType.INT64, -1))
            .addInitializer(TestModels.weight("table", new Random(1), WIDTH, WIDTH))
            .addNode(TestModels.node("Gather", List.of("table", "x"), "y"))
            .addOutput(TestModels.value("y", TensorType.FP32, -1, WIDTH)));
  }

  private static Call look(Switcher switcher, ImportedModel model, long index) {
    Call call = new Call();
    switcher.submit(lookUp(model, index), call);
    return call;
  }

  private static InferenceRequest lookUp(ImportedModel model, long index) {
    MemorySegment data = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_LONG, index);
    InputTensor input = new InputTensor("x", TensorType.INT64, Shape.of(1), data);
    return new InferenceRequest(model.version(), List.of(input), List.of("y"));
  }

  /** Who has no memory for outputs, or takes them and notes the run's times. */
  private static final class Placed implements ResultHandler {
    private final boolean hasMemory;
    final CompletableFuture<InferenceTimings> end = new CompletableFuture<>();

    Placed(boolean hasMemory) {
      this.hasMemory = hasMemory;
    }

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      if (!hasMemory) {
        throw new OutOfMemoryError("so the test says");
      }
      return Arena.ofAuto().allocate(byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      end.complete(timings);
    }

    @Override
    public void failed(StatusException error) {
      end.completeExceptionally(error);
    }
  }

  @Test
  void outputsThatCannotBePlaced_leaveTheRunItsFirstAnswer() throws Exception {
    try (Device device =
            CpuDevice.open(
                new ByteSize(2 * MODEL_BYTES), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
        Switcher switcher = open(device)) {
      ImportedModel model = TestImports.batched(TestImports.of(lookup(), "lookup", folder));
      switcher.register(model);
      ImportedModel other = TestImports.of(TestModels.chain(8, WIDTH, 1), "other", folder);
      switcher.register(other);
      for (int i = 0; i < 4; i++) {
        look(switcher, model, 1).await();
      }
      stops = true;
      Call first = new Call();
      switcher.submit(Call.request(other.version(), new float[WIDTH]), first);
      begun.acquireUninterruptibly();
      List<Placed> placed = new ArrayList<>();
      for (boolean hasMemory : new boolean[] {false, true, false, true}) {
        placed.add(new Placed(hasMemory));
        switcher.submit(lookUp(model, 1), placed.getLast());
      }
      goOn.release();
      first.await();
      int firstAnswers = 0;
      for (Placed caller : placed) {
        if (caller.hasMemory) {
          InferenceTimings timings = caller.end.join();
          firstAnswers += timings.batch() > 1 && timings.place() == 0 ? 1 : 0;
        } else {
          assertThrows(CompletionException.class, caller.end::join);
        }
      }
      assertTrue(firstAnswers > 0, "some ran together");
      assertEquals(switcher.queue().batches(), firstAnswers);
    }
  }

  @Test
  void requestsThatWait_runAsOneAndEachHasItsOwnAnswer() throws Exception {
    try (Device device =
            CpuDevice.open(
                new ByteSize(2 * MODEL_BYTES), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
        Switcher switcher = open(device)) {
      ImportedModel model = TestImports.batched(TestImports.of(lookup(), "lookup", folder));
      switcher.register(model);
      ImportedModel other = TestImports.of(TestModels.chain(8, WIDTH, 1), "other", folder);
      switcher.register(other);
      List<float[]> alone = new ArrayList<>();
      for (long index = 0; index < 4; index++) {
        alone.add(look(switcher, model, index).await());
      }
      stops = true;

      List<Call> calls = together(switcher, model, other, 0, 1, 2, 3);
      for (int i = 0; i < calls.size(); i++) {
        assertArrayEquals(alone.get(i), calls.get(i).await());
        assertEquals(1, calls.get(i).answers());
      }
      assertEquals(2, switcher.queue().batches());
      assertEquals(4, switcher.queue().batchedRequests());

      calls = together(switcher, model, other, 0, WIDTH);
      assertArrayEquals(alone.getFirst(), calls.getFirst().await());
      StatusException failure = assertThrows(StatusException.class, calls.get(1)::await);
      assertEquals(Status.INVALID_ARGUMENT, failure.status());
      assertEquals(1, switcher.queue().failedBatches());
    }
  }

  /** Submits requests while the lane is taken, and then lets them run. */
  private List<Call> together(
      Switcher switcher, ImportedModel model, ImportedModel other, long... indices) {
    Call first = new Call();
    switcher.submit(Call.request(other.version(), new float[WIDTH]), first);
    begun.acquireUninterruptibly();
    List<Call> calls = new ArrayList<>();
    for (long index : indices) {
      calls.add(look(switcher, model, index));
    }
    goOn.release();
    first.await();
    return calls;
  }
}
