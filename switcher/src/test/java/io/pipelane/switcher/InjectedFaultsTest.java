package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.ArmedFaults;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Workers that fail at each step of a run and a hand-over. All tests have the same server, which
 * replaces what it has lost; each has a model of its own, so that nothing is held against the next.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("NullAway.Init") // start() and register() fill the fields.
class InjectedFaultsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(TestDevices.ON_GPU ? 4 : 2);
  private static final Set<Step> OF_RUNS =
      EnumSet.of(Step.RUNNING, Step.MAPPING, Step.COMPUTING, Step.RAN);
  private static final Set<Fault> OF_A_GPU = EnumSet.of(Fault.DEVICE_ERROR, Fault.DEVICE_HANG);
  private static final float[] X = WorkersFixture.input(1);

  private static WorkersFixture workers;

  @TempDir Path folder;
  private final ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());
  private long lostBefore;
  private ImportedModel model;
  private float[] expected;

  @BeforeAll
  static void start() {
    workers =
        new WorkersFixture(new TestWorkers(1).program(FaultyWorker.class).hangTimeout(PATIENCE));
  }

  @BeforeEach
  void register(TestInfo test) throws IOException {
    lostBefore = workers.lost();
    model = chain(test.getTestMethod().orElseThrow().getName(), WorkersFixture.LAYERS, 1);
    workers.switcher.register(model);
    expected = workers.infer(model, X);
    workers.await(WorkerState.STANDBY, 1);
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    faults.close();
    workers.switcher.deregister(model.version());
    workers.switcher.verify();
    assertEquals(0, workers.device.persistent().usedBytes());
  }

  @AfterAll
  static void end() {
    workers.close();
  }

  /** Waits until so many workers have been lost in this test, and all are there again. */
  private void settle(long lost) {
    workers.settle(lostBefore + lost);
  }

  private ImportedModel chain(String name, int layers, long seed) throws IOException {
    return TestImports.of(TestModels.chain(layers, WorkersFixture.WIDTH, seed), name, folder);
  }

  @Test
  void run_activeFailsAtEachStep_isDoneOnceMoreElsewhere() {
    for (Step step : OF_RUNS) {
      failing(step, Fault.ABORT);
    }
    for (Fault fault : EnumSet.of(Fault.HANG, Fault.OUT_OF_MEMORY)) {
      failing(Step.COMPUTING, fault);
    }
  }

  @Test
  @Tag("long")
  @Timeout(value = 10, unit = TimeUnit.MINUTES)
  void run_activeFailsInEachWayAtEachStep_isDoneOnceMoreElsewhere() {
    Set<Fault> ways = EnumSet.allOf(Fault.class);
    if (!TestDevices.ON_GPU) {
      ways.removeAll(OF_A_GPU);
    }
    for (Step step : OF_RUNS) {
      for (Fault fault : ways) {
        failing(step, fault);
      }
    }
  }

  private void failing(Step step, Fault fault) {
    long before = workers.lost();
    long constants = workers.device.persistent().usedBytes();
    faults.arm(step, fault);
    assertArrayEquals(expected, workers.infer(model, X), fault + " at " + step);
    if (step == Step.RAN && OF_A_GPU.contains(fault)) { // The next run is the first to meet it.
      assertArrayEquals(expected, workers.infer(model, X), "after " + fault);
    }
    workers.settle(before + 1);
    assertEquals(constants, workers.device.persistent().usedBytes());
    assertTrue(workers.switcher.quarantine(model.version()).isEmpty(), fault + " at " + step);
  }

  @Test
  void warmUp_standbyFails_othersGoOnAndNoneTriesAgain() {
    faults.arm(Step.WARMING, Fault.KILL);
    assertArrayEquals(expected, workers.infer(model, X));
    settle(1);
    faults.arm(Step.WARMING, Fault.KILL);
    assertArrayEquals(expected, workers.infer(model, X));
    workers.killActive();
    assertArrayEquals(expected, workers.infer(model, X));
    settle(2);
    assertTrue(faults.isArmed(Step.WARMING));
  }

  @Test
  void takeOver_successorFailsInItsFirstRun_theNextAnswers() {
    workers.killActive();
    faults.arm(Step.MAPPING, Fault.ABORT);
    assertArrayEquals(expected, workers.infer(model, X));
    settle(2);
  }

  @Test
  void register_activeFailsWhileItBuilds_anotherBuilds() throws Exception {
    for (Step step : EnumSet.of(Step.BUILDING, Step.BUILT)) {
      long before = workers.lost();
      faults.arm(step, Fault.ABORT);
      ImportedModel other = chain("other-" + step, 3, 2);
      workers.switcher.register(other);
      workers.infer(other, X);
      workers.settle(before + 1);
      workers.switcher.deregister(other.version());
    }
    assertArrayEquals(expected, workers.infer(model, X));
  }

  @Test
  void deregister_aWorkerFailsWhileItCloses_othersGoOn() throws Exception {
    ImportedModel other = chain("other", 3, 2);
    workers.switcher.register(other);
    workers.await(WorkerState.STANDBY, 2);
    faults.arm(Step.CLOSING, Fault.ABORT);
    workers.switcher.deregister(other.version());
    assertArrayEquals(expected, workers.infer(model, X));
    settle(1);
  }

  @Test
  void recycle_successorOfTheSuccessorFails_endsAndAnswersGoOn() throws Exception {
    int active = workers.await(WorkerState.ACTIVE, 0).id();
    faults.arm(Step.HELLO, Fault.ABORT);
    workers.workers.recycle(active).get(60, TimeUnit.SECONDS);
    assertArrayEquals(expected, workers.infer(model, X));
    settle(1);
    assertTrue(workers.await(WorkerState.ACTIVE, 0).id() != active);
  }

  @Test
  void recycle_failsInItsLastRun_isDoneOnceMore() throws Exception {
    int active = workers.await(WorkerState.ACTIVE, 0).id();
    faults.arm(Step.COMPUTING, Fault.HANG);
    Call last = workers.submit(model, X);
    while (faults.isArmed(Step.COMPUTING)) {
      LockSupport.parkNanos(1_000_000);
    }
    Future<?> recycled = workers.workers.recycle(active);
    assertArrayEquals(expected, last.await());
    recycled.get(60, TimeUnit.SECONDS);
    workers.settle(workers.lost());
  }

  @Test
  void modelsWhoseGraphsAbort_areQuarantinedAndOthersAreNot() throws Exception {
    List<ImportedModel> bad = List.of(chain("bad0", 2, 3), chain("bad1", 4, 4));
    for (ImportedModel each : bad) {
      workers.switcher.register(each);
    }
    bad.forEach(each -> faults.armAlways(Step.COMPUTING, each, Fault.ABORT));
    AtomicBoolean over = new AtomicBoolean();
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<?> good = threads.submit(() -> askUntil(over));
      try {
        List<Call> doomed = bad.stream().map(each -> workers.submit(each, X)).toList();
        for (Call call : doomed) {
          assertEquals(
              Status.UNAVAILABLE, assertThrows(StatusException.class, call::await).status());
        }
        for (ImportedModel each : bad) {
          askUntilQuarantined(each);
        }
      } finally {
        over.set(true);
      }
      good.get();
    } catch (ExecutionException e) {
      throw new AssertionError("the good model failed", e.getCause());
    }
    assertTrue(workers.switcher.quarantine(model.version()).isEmpty());
    long lost = workers.lost();
    for (ImportedModel each : bad) {
      assertThrows(StatusException.class, () -> workers.infer(each, X));
    }
    assertArrayEquals(expected, workers.infer(model, X));
    workers.settle(lost);
    for (ImportedModel each : bad) {
      workers.switcher.deregister(each.version());
    }
  }

  private void askUntil(AtomicBoolean over) {
    while (!over.get()) {
      assertArrayEquals(expected, workers.infer(model, X));
    }
  }

  /** Two that fail at once may each take the other's blame once. */
  private void askUntilQuarantined(ImportedModel bad) {
    int asked = 0;
    while (workers.switcher.quarantine(bad.version()).isEmpty()) {
      assertThrows(StatusException.class, () -> workers.infer(bad, X));
      assertTrue(++asked < 5, bad.version() + " is not quarantined");
    }
  }
}
