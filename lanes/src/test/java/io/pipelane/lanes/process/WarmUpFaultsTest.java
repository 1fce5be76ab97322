package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A standby's warm-up that never ends, and what others have to do with it: nothing. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WarmUpFaultsTest {
  private static final float[] X = WorkerFixture.random(2, 1);

  @TempDir Path folder;
  private final ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());
  private final WorkerFixture workers =
      new WorkerFixture(new TestWorkers(1).program(FaultyWorker.class));

  @AfterEach
  void nothingIsLeft() throws IOException {
    workers.close();
    faults.close();
  }

  private ImportedModel branches() throws Exception {
    return TestImports.of(TestModels.branches(1), "branches", folder);
  }

  private WorkersOverview.Entry standby() {
    return workers.in(WorkerState.STANDBY).orElseThrow();
  }

  private void end(WorkersOverview.Entry worker) {
    long lost = workers.sessions.workers().lost();
    Signals.send("KILL", worker.pid());
    while (workers.sessions.workers().lost() == lost) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Test
  void close_whileAStandbyWarmsUp_doesNotWaitForIt() throws Exception {
    ModelSession session = workers.gated(branches(), workers.filled(branches()));
    float[] expected = workers.hangInAWarmUp(faults, session, X);
    session.shrink();
    assertArrayEquals(expected, workers.run(session, X));
    session.close();
    end(standby());
  }

  /** Which loses a worker that runs for nobody else; the session is asked to be warmed up again. */
  @Test
  void warmUp_thatCostsAWorkerOnce_isDoneByTheNext() throws Exception {
    try (ModelSession session = workers.gated(branches(), workers.filled(branches()))) {
      faults.arm(Step.WARMING, Fault.EXIT);
      float[] expected = workers.run(session, X);
      workers.awaitStandby(1);
      assertArrayEquals(expected, workers.run(session, X));
      while (workers.in(WorkerState.STANDBY).filter(it -> it.warmedUp() > 0).isEmpty()) {
        LockSupport.parkNanos(1_000_000);
      }
      assertEquals(1, workers.sessions.workers().lost());
    }
  }

  @Test
  void run_waitsForAWarmUpThatIsLost_othersAreToBlame() throws Exception {
    try (ModelSession session = workers.gated(branches(), workers.filled(branches()))) {
      float[] expected = workers.hangInAWarmUp(faults, session, X);
      end(workers.active());
      CompletableFuture<float[]> run = CompletableFuture.supplyAsync(() -> workers.run(session, X));
      WorkerProcess active = workers.sessions.enter(Priority.ONLINE, "");
      try {
        while (!active.lane(0).progress().waits()) {
          LockSupport.parkNanos(1_000_000);
        }
        Signals.send("KILL", active.pid());
      } finally {
        active.leave();
      }
      CompletionException loss = assertThrows(CompletionException.class, run::join);
      assertEquals(
          WorkerLostException.Blame.OTHERS,
          assertInstanceOf(WorkerLostException.class, loss.getCause()).blame());
      assertArrayEquals(expected, workers.run(session, X));
    }
  }
}
