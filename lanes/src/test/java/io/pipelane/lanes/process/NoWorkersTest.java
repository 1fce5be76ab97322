package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.WorkersConfig.SwitchOn;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A device that no worker can be started on counts as lost, until one can. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class NoWorkersTest {
  private static final float[] X = WorkerFixture.random(2, 1);

  @TempDir Path folder;
  private final ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());

  @AfterEach
  void nothingIsArmed() throws IOException {
    faults.close();
  }

  private static WorkerFixture openWithoutStandbys() {
    return new WorkerFixture(
        new TestWorkers(0).program(FaultyWorker.class).startTimeout(Duration.ofSeconds(8)));
  }

  @Test
  void isLost_startsFailAgainAndAgain_runsFailAtOnceUntilOneSucceeds() throws Exception {
    var model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (WorkerFixture workers = openWithoutStandbys();
        ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, X);
      assertFalse(workers.sessions.isLost());
      faults.armAlways(Step.HELLO, Fault.EXIT);
      Signals.send("KILL", workers.active().pid());
      while (!workers.sessions.isLost()) {
        LockSupport.parkNanos(1_000_000);
      }
      StatusException error = assertThrows(StatusException.class, () -> workers.run(session, X));
      assertEquals(Status.UNAVAILABLE, error.status());
      assertTrue(
          String.valueOf(error.getMessage()).contains("none could be started"), error::toString);
      faults.disarm(Step.HELLO);
      while (workers.sessions.isLost()) {
        LockSupport.parkNanos(1_000_000);
      }
      assertArrayEquals(expected, workers.run(session, X));
    }
  }

  /** It takes the time limit of a start, which a busy machine needs. */
  @Test
  void recycle_noSuccessorCanBeStarted_saysSoToAllWhoAskedAndTheWorkerStays() throws Exception {
    var model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (WorkerFixture workers = openWithoutStandbys();
        ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, X);
      WorkersOverview.Entry active = workers.active();
      faults.armAlways(Step.HELLO, Fault.EXIT);
      CompletableFuture<Void> first = workers.sessions.recycle(active.id());
      CompletableFuture<Void> second = workers.sessions.recycle(active.id());
      for (CompletableFuture<Void> each : List.of(first, second)) {
        StatusException error =
            assertInstanceOf(
                StatusException.class,
                assertThrows(ExecutionException.class, each::get).getCause());
        assertEquals(Status.UNAVAILABLE, error.status());
        assertTrue(error.toString().contains("no other could take over"), error::toString);
      }
      assertEquals(active.id(), workers.active().id());
      assertArrayEquals(expected, workers.run(session, X));
      faults.disarm(Step.HELLO);
      workers.sessions.recycle(active.id()).get();
      assertArrayEquals(expected, workers.run(session, X));
    }
  }

  /** Its worker leaves for the next owner, for whom one can be started whatever failed before. */
  @Test
  void ownersWorkerLeaves_startsBesideItHadFailed_theNextOwnersIsStartedAtOnce() throws Exception {
    try (WorkerFixture owned =
        new WorkerFixture(
            new TestWorkers(1).program(FaultyWorker.class).switchOn(SwitchOn.MODEL))) {
      var model = TestImports.of(TestModels.branches(1), "branches", folder);
      try (ModelSession session = owned.gated(model, owned.filled(model))) {
        float[] expected = owned.run(session, X, "first");
        WorkersOverview.Entry standby = owned.await(WorkerState.STANDBY, 0);
        faults.armAlways(Step.HELLO, Fault.EXIT);
        long losses = owned.sessions.workers().lost() + 1 + StartPauses.FAILURES_UNTIL_HOPELESS;
        Signals.send("KILL", standby.pid());
        while (owned.sessions.workers().lost() < losses) {
          LockSupport.parkNanos(1_000_000);
        }
        faults.disarm(Step.HELLO);
        assertArrayEquals(expected, owned.run(session, X, "next"));
      }
    }
  }
}
