package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.ArmedFaults;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.WorkerState;
import io.pipelane.lanes.process.WorkersOverview;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Workers whose device reports an error. Each test has a server of its own: a worker that was lost
 * just before changes what a report does.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReportedErrorsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(TestDevices.ON_GPU ? 4 : 2);
  private static final float[] X = WorkersFixture.input(1);

  @TempDir Path folder;
  private final ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());
  private final WorkersFixture workers =
      new WorkersFixture(new TestWorkers(1).program(FaultyWorker.class).hangTimeout(PATIENCE));
  private ImportedModel model = BoundSessions.model("none", "none", 64);
  private float[] expected = new float[0];

  @BeforeEach
  void register() throws IOException {
    model =
        TestImports.of(
            TestModels.chain(WorkersFixture.LAYERS, WorkersFixture.WIDTH, 1), "good", folder);
    workers.switcher.register(model);
    expected = workers.infer(model, X);
    workers.await(WorkerState.STANDBY, 1);
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    workers.close();
    faults.close();
  }

  /** As when the device has reported an error: the worker may hang for ever, or not at all. */
  @Test
  void reset_activeHangsInARun_isDoneOnceMoreElsewhere() {
    faults.arm(Step.COMPUTING, Fault.HANG);
    Call call = workers.submit(model, X);
    while (faults.isArmed(Step.COMPUTING)) {
      LockSupport.parkNanos(1_000_000);
    }
    assertTrue(workers.workers.reset("the device has reported XID 31"));
    assertArrayEquals(expected, call.await());
    workers.settle(1);
    assertTrue(workers.workers.workers().lastLoss().contains("XID 31"));
    assertTrue(workers.switcher.quarantine(model.version()).isEmpty());
  }

  /** A standby that the error has broken, too, ends before it could take over. */
  @Test
  void reset_standbyIsBroken_isReplacedAsWell() {
    faults.arm(Step.CHECKING, Fault.EXIT);
    assertTrue(workers.workers.reset("the device has reported XID 79"));
    assertArrayEquals(expected, workers.infer(model, X));
    workers.settle(2);
    assertFalse(faults.isArmed(Step.CHECKING));
  }

  /** The driver tells of an error when the worker has ended for it, and another computes. */
  @Test
  void reset_forAWorkerThatIsGone_sparesTheNextAndTheLossIsToldAsItWas() {
    workers.killActive();
    assertArrayEquals(expected, workers.infer(model, X));
    assertTrue(workers.workers.reset("the device has reported XID 31"));
    assertArrayEquals(expected, workers.infer(model, X));
    workers.settle(1);
    WorkersOverview overview = workers.workers.workers();
    assertTrue(overview.lastLoss().contains("signal 9"), overview.lastLoss());
    assertTrue(overview.lastPauseNanos() > 0);
  }
}
