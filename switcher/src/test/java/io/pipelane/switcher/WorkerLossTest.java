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
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests while worker processes die, hang, and are replaced. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkerLossTest {
  private static final int CLIENTS = 4;
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @TempDir Path folder;

  private ImportedModel chain(String name, long seed) throws IOException {
    return chain(name, WorkersFixture.LAYERS, seed);
  }

  private ImportedModel chain(String name, int layers, long seed) throws IOException {
    return TestImports.of(TestModels.chain(layers, WorkersFixture.WIDTH, seed), name, folder);
  }

  @Test
  void killActive_duringRequests_everyAnswerIsRight() throws Exception {
    killing(3, 200);
  }

  /** The same for long: fifty kills, and at least five thousand requests for each. */
  @Test
  @Tag("long")
  @Timeout(value = 20, unit = TimeUnit.MINUTES)
  void killActive_fiftyTimesDuringThousandsOfRequests_everyAnswerIsRight() throws Exception {
    killing(50, 5_000);
  }

  /**
   * More models than fit, two of one structure, so that requests are warm, cold and remapped when
   * they are interrupted.
   */
  private void killing(int kills, int requestsEach) throws Exception {
    long seed = System.nanoTime();
    try (WorkersFixture workers = new WorkersFixture(1, PATIENCE)) {
      List<ImportedModel> models = new ArrayList<>();
      List<float[]> expected = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        models.add(chain("m" + i, WorkersFixture.LAYERS - (i + 1) / 2, i));
        workers.switcher.register(models.get(i));
        expected.add(workers.infer(models.get(i), WorkersFixture.input(i)));
      }
      AtomicBoolean over = new AtomicBoolean();
      AtomicLong answered = new AtomicLong();
      AtomicLong slowest = new AtomicLong();
      List<Long> pauses = new ArrayList<>();
      try (ExecutorService threads = Executors.newFixedThreadPool(CLIENTS)) {
        List<Future<?>> clients = new ArrayList<>();
        for (int c = 0; c < CLIENTS; c++) {
          Random random = new Random(seed + c);
          clients.add(
              threads.submit(
                  () -> {
                    while (!over.get()) {
                      int i = random.nextInt(models.size());
                      long begin = System.nanoTime();
                      float[] answer = workers.infer(models.get(i), WorkersFixture.input(i));
                      slowest.accumulateAndGet(System.nanoTime() - begin, Math::max);
                      assertArrayEquals(expected.get(i), answer, "seed " + seed);
                      answered.incrementAndGet();
                    }
                  }));
        }
        try {
          for (int kill = 0; kill < kills; kill++) {
            workers.await(WorkerState.STANDBY, 3);
            awaitMore(answered, requestsEach + new Random(seed + kill).nextInt(50), clients);
            slowest.set(0);
            workers.killActive();
            awaitMore(answered, 50, clients);
            pauses.add(slowest.get());
            workers.switcher.verify();
          }
        } finally {
          over.set(true);
        }
        for (Future<?> client : clients) {
          client.get();
        }
      }
      WorkersOverview overview = workers.workers.workers();
      assertEquals(kills, overview.lost(), overview.lastLoss());
      assertTrue(overview.lastLoss().contains("signal 9"), overview.lastLoss());
      pauses.sort(null);
      System.out.printf(
          "%d kills, %d requests: slowest answer around a kill %.1f ms at the median, %.1f ms at most%n",
          kills, answered.get(), pauses.get(pauses.size() / 2) / 1e6, pauses.getLast() / 1e6);
    }
  }

  /** Waits until so many more are answered, or a client has failed. */
  private static void awaitMore(AtomicLong answered, long more, List<Future<?>> clients)
      throws InterruptedException, ExecutionException {
    long until = answered.get() + more;
    while (answered.get() < until) {
      for (Future<?> client : clients) {
        if (client.isDone()) {
          client.get();
        }
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Test
  void killAll_requestsWaitForAnother() throws Exception {
    try (WorkersFixture workers = new WorkersFixture(1, PATIENCE)) {
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
    try (WorkersFixture workers = new WorkersFixture(1, WorkersFixture.SHORT)) {
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
    try (WorkersFixture workers = new WorkersFixture(1, WorkersFixture.SHORT)) {
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
    try (WorkersFixture workers = new WorkersFixture(1, PATIENCE)) {
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
