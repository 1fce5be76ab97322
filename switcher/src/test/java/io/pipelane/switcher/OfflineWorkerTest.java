package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.ArmedFaults;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.Signals;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.channel.WorkerArea;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Online and offline work in two worker processes: what one costs the other. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OfflineWorkerTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final int KILLS = 3;
  private static final int RUNS_BETWEEN = 20;

  @TempDir Path folder;

  private ImportedModel chain(String name, int layers) throws IOException {
    return TestImports.of(TestModels.chain(layers, WorkersFixture.WIDTH, layers), name, folder);
  }

  private static WorkersFixture open(Function<ImportedModel, WeightSource> weights) {
    return new WorkersFixture(new TestWorkers(1).offlineApart(true).hangTimeout(PATIENCE), weights);
  }

  /** Weights of a model that come, behind its first page, when the test says so. */
  private static Function<ImportedModel, WeightSource> late(
      String name, CountDownLatch waits, CountDownLatch come) {
    return model ->
        model.version().model().equals(name)
            ? new LateSource(ReadWeights.of(model), waits, come)
            : ReadWeights.of(model);
  }

  private static float[] inferOffline(WorkersFixture workers, ImportedModel model, float... x) {
    Call call = new Call();
    workers.switcher.submit(Call.request(model.version(), x).offline(), call);
    return call.await();
  }

  /** Killed, or told to end, which it does in order. */
  @ParameterizedTest
  @ValueSource(strings = {"KILL", "TERM"})
  void offlineWorkerLost_underLoad_noOnlineRunIsDoneTwice(String signal) throws Exception {
    try (WorkersFixture workers = open(ReadWeights::of)) {
      ImportedModel online = chain("online", WorkersFixture.LAYERS);
      ImportedModel offline = chain("offline", 2 * WorkersFixture.LAYERS - 1);
      workers.switcher.register(online);
      workers.switcher.register(offline);
      float[] x = WorkersFixture.input(1);
      float[] expected = workers.infer(online, x);
      float[] expectedOffline = inferOffline(workers, offline, x);
      int active = workers.await(WorkerState.ACTIVE, 0).id();
      AtomicBoolean over = new AtomicBoolean();
      AtomicLong offlineRuns = new AtomicLong();
      AtomicLong onlineRuns = new AtomicLong();
      try (ExecutorService clients = Executors.newFixedThreadPool(3)) {
        List<Future<?>> done = new ArrayList<>();
        for (int client = 0; client < 2; client++) {
          done.add(
              clients.submit(
                  () -> {
                    while (!over.get()) {
                      assertArrayEquals(expectedOffline, inferOffline(workers, offline, x), 1e-5f);
                      offlineRuns.incrementAndGet();
                    }
                  }));
        }
        done.add(
            clients.submit(
                () -> {
                  while (!over.get()) {
                    assertArrayEquals(expected, workers.infer(online, x), 1e-5f);
                    onlineRuns.incrementAndGet();
                    LockSupport.parkNanos(10_000_000); // Offline work gets what is between.
                  }
                }));
        for (int kill = 1; kill <= KILLS; kill++) {
          awaitMore(offlineRuns, done);
          awaitMore(onlineRuns, done);
          // One that stands by remains: a model that loses two workers in a row is quarantined.
          long pid = workers.await(WorkerState.OFFLINE, 1).pid();
          Signals.send(signal, pid);
          while (workers.workers.workers().lost() < kill) {
            LockSupport.parkNanos(1_000_000);
          }
          String loss = workers.workers.workers().lastLoss();
          assertTrue(
              loss.contains(
                  signal.equals("KILL")
                      ? "ended with signal 9"
                      : "ended with code " + WorkerArea.TOLD_TO_END),
              loss);
          workers.switcher.verify();
        }
        awaitMore(offlineRuns, done);
        over.set(true);
        for (Future<?> each : done) {
          each.get();
        }
      }
      assertEquals(active, workers.await(WorkerState.ACTIVE, 0).id(), "it was never lost");
      assertEquals(KILLS, workers.workers.workers().lost());
    }
  }

  /** However long that start takes, and though there is one lane. */
  @Test
  void offlineRun_untilItsWorkerHasStarted_leavesTheLaneToOnlineRuns() throws Exception {
    TestWorkers crew = new TestWorkers(1).offlineApart(true).hangTimeout(PATIENCE);
    try (WorkersFixture workers = new WorkersFixture(crew, 1, ReadWeights::of)) {
      ImportedModel online = chain("online", 2);
      ImportedModel offline = chain("offline", 3);
      workers.switcher.register(online);
      workers.switcher.register(offline);
      float[] x = WorkersFixture.input(1);
      float[] expected = workers.infer(online, x);
      float[] expectedOffline = inferOffline(workers, offline, x);
      workers.await(WorkerState.STANDBY, 2); // It is kept for online work.
      Signals.send("KILL", workers.await(WorkerState.OFFLINE, 1).pid());
      long next = workers.await(WorkerState.STARTING, 0).pid();
      Signals.send("STOP", next);
      Call held = new Call();
      try {
        workers.switcher.submit(Call.request(offline.version(), x).offline(), held);
        while (workers.switcher.sharing().gate().runs().isEmpty()) {
          LockSupport.parkNanos(1_000_000);
        }
        assertArrayEquals(expected, workers.infer(online, x));
        assertTrue(workers.in(WorkerState.OFFLINE).isEmpty());
        assertEquals(0, held.answers());
      } finally {
        Signals.send("CONT", next);
      }
      assertArrayEquals(expectedOffline, held.await());
      workers.switcher.verify();
    }
  }

  /** Fails at once where a client has. */
  private static void awaitMore(AtomicLong runs, List<Future<?>> clients) throws Exception {
    long until = runs.get() + RUNS_BETWEEN;
    while (runs.get() < until) {
      for (Future<?> client : clients) {
        if (client.isDone()) {
          client.get();
        }
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  /**
   * It ends at the gate where it stands, though nobody lets it go on, and begins anew in the next
   * worker once it may: nothing is held against it.
   */
  @ParameterizedTest
  @ValueSource(strings = "INT")
  void offlineWorkerToldToEnd_whileItsRunStandsAtAGate_launchesNothingMoreAndIsReplaced(
      String signal) throws Exception {
    CountDownLatch weightsCome = new CountDownLatch(1);
    CountDownLatch offlineWaits = new CountDownLatch(1);
    try (WorkersFixture workers = open(late("offline", offlineWaits, weightsCome))) {
      ImportedModel online = chain("online", 2);
      ImportedModel offline = chain("offline", WorkersFixture.LAYERS);
      workers.switcher.register(online);
      workers.switcher.register(offline);
      float[] x = WorkersFixture.input(1);
      float[] expected = workers.infer(online, x);
      int active = workers.await(WorkerState.ACTIVE, 0).id();
      Call held = new Call();
      workers.switcher.submit(Call.request(offline.version(), x).offline(), held);
      offlineWaits.await(); // For the weights behind the first page: it has begun.
      OfflineGate gate = workers.switcher.sharing().gate();
      ResultHandler inFlight = gate.online().begin(new Ignored());
      weightsCome.countDown();
      while (gate.runs().ranSince(gate.runs().mark())) {
        LockSupport.parkNanos(1_000_000);
      }
      int before = workers.await(WorkerState.OFFLINE, 1).id();
      Signals.send(signal, workers.await(WorkerState.OFFLINE, 1).pid());
      while (workers.lost() == 0) {
        assertArrayEquals(expected, workers.infer(online, x));
      }
      String loss = workers.workers.workers().lastLoss();
      assertTrue(loss.contains("ended with code " + WorkerArea.TOLD_TO_END), loss);
      for (int i = 0; i < RUNS_BETWEEN; i++) {
        assertArrayEquals(expected, workers.infer(online, x));
      }
      assertEquals(active, workers.await(WorkerState.ACTIVE, 0).id());
      assertEquals(0, held.answers());
      inFlight.completed(new InferenceTimings(0, 0, 0));
      float[] answer = held.await();
      assertEquals(1, held.answers());
      assertArrayEquals(answer, inferOffline(workers, offline, x));
      assertNotEquals(before, workers.await(WorkerState.OFFLINE, 1).id());
      assertEquals(1, workers.lost());
      workers.switcher.verify();
    }
  }

  /** A fault at the step at which the device is given back shows that it is, nothing running. */
  @Test
  void offlineWorkerToldToEnd_itsDeviceIsGivenBack() throws Exception {
    try (ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());
        WorkersFixture workers =
            new WorkersFixture(
                new TestWorkers(1)
                    .program(FaultyWorker.class)
                    .offlineApart(true)
                    .hangTimeout(PATIENCE))) {
      ImportedModel offline = chain("offline", WorkersFixture.LAYERS);
      workers.switcher.register(offline);
      float[] x = WorkersFixture.input(1);
      float[] expected = inferOffline(workers, offline, x);
      workers.await(WorkerState.STANDBY, 0);
      faults.arm(Step.RELEASING, Fault.EXIT);
      Signals.send("TERM", workers.await(WorkerState.OFFLINE, 1).pid());
      while (workers.lost() == 0) {
        LockSupport.parkNanos(1_000_000);
      }
      assertFalse(faults.isArmed(Step.RELEASING));
      String loss = workers.workers.workers().lastLoss();
      assertTrue(loss.contains("code 7"), loss);
      assertArrayEquals(expected, inferOffline(workers, offline, x));
    }
  }

  /**
   * While an online request is in flight, the run in the other process waits at a gate; not for the
   * outputs of one that has computed.
   */
  @Test
  void onlineInFlight_offlineRunInTheOtherProcess_standsAtItsNextGateUntilThatIsOver()
      throws Exception {
    CountDownLatch weightsCome = new CountDownLatch(1);
    CountDownLatch offlineWaits = new CountDownLatch(1);
    try (WorkersFixture workers = open(late("offline", offlineWaits, weightsCome));
        HeldCall placing = new HeldCall()) {
      ImportedModel online = chain("online", 2);
      ImportedModel offline = chain("offline", WorkersFixture.LAYERS);
      workers.switcher.register(online);
      workers.switcher.register(offline);
      float[] x = WorkersFixture.input(1);
      float[] expected = workers.infer(online, x);
      Call held = new Call();
      workers.switcher.submit(Call.request(offline.version(), x).offline(), held);
      offlineWaits.await(); // For the weights behind the first page: it has begun.
      OfflineGate gate = workers.switcher.sharing().gate();
      ResultHandler inFlight = gate.online().begin(new Ignored());
      weightsCome.countDown();
      while (gate.runs().ranSince(gate.runs().mark())) {
        LockSupport.parkNanos(1_000_000);
      }
      long mark = gate.runs().mark();
      assertArrayEquals(expected, workers.infer(online, x), "others pass it");
      assertFalse(gate.runs().ranSince(mark), "and it has stood meanwhile");
      assertEquals(0, held.answers());
      workers.switcher.submit(Call.request(online.version(), x), placing);
      placing.computed.await();
      inFlight.completed(new InferenceTimings(0, 0, 0));
      assertEquals(WorkersFixture.WIDTH, held.await().length, "what is placed holds nobody");
      placing.goOn.countDown();
      assertArrayEquals(expected, placing.call.await());
    }
  }

  /** It never comes to the gate at which it is to stand, so it is not excused for standing. */
  @Test
  void offlineRunHangs_whileOnlineWorkGoesOn_isFoundAndDoneOnceMore() throws Exception {
    try (ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());
        WorkersFixture workers =
            new WorkersFixture(
                new TestWorkers(1)
                    .program(FaultyWorker.class)
                    .offlineApart(true)
                    .hangTimeout(WorkersFixture.SHORT))) {
      ImportedModel online = chain("online", 2);
      ImportedModel offline = chain("offline", WorkersFixture.LAYERS);
      workers.switcher.register(online);
      workers.switcher.register(offline);
      float[] x = WorkersFixture.input(1);
      float[] expected = workers.infer(online, x);
      float[] expectedOffline = inferOffline(workers, offline, x);
      workers.await(WorkerState.STANDBY, 1);
      faults.arm(Step.COMPUTING, Fault.HANG);
      Call hung = new Call();
      workers.switcher.submit(Call.request(offline.version(), x).offline(), hung);
      while (faults.isArmed(Step.COMPUTING)) {
        LockSupport.parkNanos(1_000_000);
      }
      ResultHandler inFlight = workers.switcher.sharing().gate().online().begin(new Ignored());
      while (workers.workers.workers().lost() == 0) {
        assertArrayEquals(expected, workers.infer(online, x));
      }
      inFlight.completed(new InferenceTimings(0, 0, 0));
      assertArrayEquals(expectedOffline, hung.await());
      String loss = workers.workers.workers().lastLoss();
      assertTrue(loss.contains("hangs"), loss);
    }
  }

  /**
   * An online request that has computed, whose answer is placed when the test lets it, or is over.
   */
  private static final class HeldCall implements ResultHandler, AutoCloseable {
    final Call call = new Call();
    final CountDownLatch computed = new CountDownLatch(1);
    final CountDownLatch goOn = new CountDownLatch(1);

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      computed.countDown();
      try {
        goOn.await();
      } catch (InterruptedException e) {
        throw new AssertionError("nobody interrupts a run", e);
      }
      return call.place(name, type, shape, byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      call.completed(timings);
    }

    @Override
    public void failed(StatusException error) {
      call.failed(error);
    }

    @Override
    public void close() {
      goOn.countDown();
    }
  }

  /** Weights whose first read is at once, and the others when the test says so. */
  private record LateSource(WeightSource source, CountDownLatch waits, CountDownLatch come)
      implements WeightSource {
    @Override
    public long byteSize() {
      return source.byteSize();
    }

    @Override
    public void read(long offset, MemorySegment destination) {
      if (offset > 0) {
        waits.countDown();
        try {
          come.await();
        } catch (InterruptedException e) {
          throw new AssertionError("nobody interrupts a copy", e);
        }
      }
      source.read(offset, destination);
    }

    @Override
    public void close() {
      source.close();
    }
  }
}
