package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.protobuf.ByteString;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.Signals;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests while worker processes die, hang, and are replaced. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkerLossTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @TempDir Path folder;

  private ImportedModel chain(String name, long seed) throws IOException {
    return TestImports.of(
        TestModels.chain(WorkersFixture.LAYERS, WorkersFixture.WIDTH, seed), name, folder);
  }

  @Test
  void killAll_requestsWaitForAnother() throws Exception {
    try (WorkersFixture workers = new WorkersFixture(new TestWorkers(1).hangTimeout(PATIENCE))) {
      ImportedModel model = chain("m", 1);
      workers.switcher.register(model);
      float[] expected = workers.infer(model, WorkersFixture.input(1));
      Signals.send("KILL", workers.await(WorkerState.STANDBY, 0).pid());
      workers.killActive();
      assertArrayEquals(expected, workers.infer(model, WorkersFixture.input(1)));
    }
  }

  @Test
  void stopped_isEndedAfterTheTimeLimitAndTheRequestAnsweredElsewhere() throws Exception {
    try (WorkersFixture workers =
        new WorkersFixture(new TestWorkers(1).hangTimeout(WorkersFixture.SHORT))) {
      ImportedModel model = chain("m", 1);
      workers.switcher.register(model);
      float[] expected = workers.infer(model, WorkersFixture.input(1));
      workers.await(WorkerState.STANDBY, 1);
      Signals.stop(workers.await(WorkerState.ACTIVE, 0).pid());
      assertArrayEquals(expected, workers.infer(model, WorkersFixture.input(1)));
      String loss = workers.workers.workers().lastLoss();
      assertTrue(loss.contains("hangs"), loss);
    }
  }

  @Test
  void stopped_deadlineHasPassedWhenItIsEnded_isNotDoneOnceMore() throws Exception {
    try (WorkersFixture workers =
        new WorkersFixture(new TestWorkers(1).hangTimeout(WorkersFixture.SHORT))) {
      ImportedModel model = chain("m", 1);
      workers.switcher.register(model);
      float[] expected = workers.infer(model, WorkersFixture.input(1));
      workers.await(WorkerState.STANDBY, 1);
      Signals.stop(workers.await(WorkerState.ACTIVE, 0).pid());
      Call call = new Call();
      InferenceRequest request = Call.request(model.version(), WorkersFixture.input(1));
      OptionalLong deadline =
          OptionalLong.of(System.nanoTime() + WorkersFixture.SHORT.toNanos() / 2);
      workers.switcher.submit(
          new InferenceRequest(request.model(), request.inputs(), request.outputs(), deadline),
          call);
      StatusException error = assertThrows(StatusException.class, call::await);
      assertEquals(Status.UNAVAILABLE, error.status());
      assertTrue(error.toString().contains("deadline has passed"), error.toString());
      assertArrayEquals(expected, workers.infer(model, WorkersFixture.input(1)));
    }
  }

  @Test
  void allStandbysHang_requestIsAnsweredByTheNextAndNothingIsHeldAgainstItsModel()
      throws Exception {
    try (WorkersFixture workers =
        new WorkersFixture(new TestWorkers(2).hangTimeout(WorkersFixture.SHORT))) {
      ImportedModel model = chain("m", 1);
      workers.switcher.register(model);
      float[] expected = workers.infer(model, WorkersFixture.input(1));
      while (workers.workers.workers().workers().stream()
              .filter(each -> each.state() == WorkerState.STANDBY && !each.models().isEmpty())
              .count()
          < 2) {
        LockSupport.parkNanos(1_000_000);
      }
      workers.workers.workers().workers().stream()
          .filter(each -> each.state() == WorkerState.STANDBY)
          .forEach(each -> Signals.stop(each.pid()));
      workers.killActive();
      assertArrayEquals(expected, workers.infer(model, WorkersFixture.input(1)));
      assertTrue(workers.switcher.quarantine(model.version()).isEmpty());
      while (workers.workers.workers().lost() < 3) {
        LockSupport.parkNanos(1_000_000); // The supervisor hears of it a little later.
      }
    }
  }

  /** {@code y = x}, after more rounds of a loop than anybody can wait for. */
  private static ModelProto endless() {
    GraphProto body =
        GraphProto.newBuilder()
            .setName("body")
            .addInput(TestModels.value("round", TensorType.INT64))
            .addInput(TestModels.value("on", TensorType.BOOL))
            .addInput(TestModels.value("before", TensorType.FP32, 1, WorkersFixture.WIDTH))
            .addNode(TestModels.node("Identity", List.of("on"), "on_out"))
            .addNode(TestModels.node("Tanh", List.of("before"), "after"))
            .addOutput(TestModels.value("on_out", TensorType.BOOL))
            .addOutput(TestModels.value("after", TensorType.FP32, 1, WorkersFixture.WIDTH))
            .build();
    NodeProto loop =
        NodeProto.newBuilder()
            .setOpType("Loop")
            .addInput("rounds")
            .addInput("")
            .addInput("x")
            .addOutput("y")
            .addAttribute(
                AttributeProto.newBuilder()
                    .setName("body")
                    .setType(AttributeProto.AttributeType.GRAPH)
                    .setG(body))
            .build();
    ByteBuffer rounds = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);
    rounds.putLong(0, Long.MAX_VALUE);
    return TestModels.model(
        GraphProto.newBuilder()
            .addInput(TestModels.value("x", TensorType.FP32, 1, WorkersFixture.WIDTH))
            .addInitializer(
                TensorProto.newBuilder()
                    .setName("rounds")
                    .setDataType(TensorType.INT64.onnx())
                    .setRawData(ByteString.copyFrom(rounds)))
            .addNode(loop)
            .addOutput(TestModels.value("y", TensorType.FP32, 1, WorkersFixture.WIDTH)));
  }

  @Test
  void modelThatHangs_isQuarantinedAndOthersGoOn() throws Exception {
    try (WorkersFixture workers =
        new WorkersFixture(new TestWorkers(1).hangTimeout(WorkersFixture.SHORT))) {
      ImportedModel good = chain("good", 1);
      ImportedModel bad = TestImports.of(endless(), "bad", folder);
      workers.switcher.register(good);
      workers.switcher.register(bad);
      float[] expected = workers.infer(good, WorkersFixture.input(1));
      Call doomed = workers.submit(bad, WorkersFixture.input(1));
      for (int i = 0; i < 20; i++) {
        assertArrayEquals(expected, workers.infer(good, WorkersFixture.input(1)));
      }
      StatusException error = assertThrows(StatusException.class, doomed::await);
      assertEquals(Status.UNAVAILABLE, error.status());
      assertTrue(error.toString().contains("bad/1 is quarantined"), error.toString());
      assertTrue(workers.switcher.quarantine(bad.version()).orElseThrow().contains("hangs"));
      while (workers.workers.workers().lost() < 2) {
        LockSupport.parkNanos(1_000_000); // The supervisor hears of it a little later.
      }
      long lost = workers.workers.workers().lost();
      assertThrows(StatusException.class, () -> workers.infer(bad, WorkersFixture.input(1)));
      assertArrayEquals(expected, workers.infer(good, WorkersFixture.input(1)));
      assertEquals(lost, workers.workers.workers().lost(), "it is not tried any more");
      assertTrue(workers.switcher.quarantine(good.version()).isEmpty());
    }
  }

  @Test
  void recycle_duringRequests_noneFailsAndAllWorkersAreNew() throws Exception {
    try (WorkersFixture workers = new WorkersFixture(new TestWorkers(1).hangTimeout(PATIENCE))) {
      ImportedModel model = chain("m", 1);
      workers.switcher.register(model);
      float[] expected = workers.infer(model, WorkersFixture.input(1));
      AtomicBoolean over = new AtomicBoolean();
      try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
        Future<?> client =
            threads.submit(
                () -> {
                  while (!over.get()) {
                    assertArrayEquals(expected, workers.infer(model, WorkersFixture.input(1)));
                  }
                });
        List<Integer> first =
            workers.workers.workers().workers().stream().map(WorkersOverview.Entry::id).toList();
        for (int id : first) {
          workers.workers.recycle(id).get(30, TimeUnit.SECONDS);
        }
        over.set(true);
        client.get();
        ExecutionException none =
            assertThrows(
                ExecutionException.class, () -> workers.workers.recycle(first.getFirst()).get());
        assertTrue(
            none.getCause() instanceof StatusException error && error.status() == Status.NOT_FOUND);
      }
      assertEquals(0, workers.workers.workers().lost());
    }
  }
}
