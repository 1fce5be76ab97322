package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers that are to take over, and do not listen or do not come. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SilentWorkersTest {
  private static final float[] X = WorkerFixture.random(2, 1);

  @TempDir Path folder;
  private final ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());

  @AfterEach
  void disarm() throws IOException {
    faults.close();
  }

  private static WorkerFixture workers(int standbys) {
    return new WorkerFixture(
        new TestWorkers(standbys).program(FaultyWorker.class).hangTimeout(Duration.ofSeconds(3)));
  }

  private ImportedModel branches() throws IOException {
    return TestImports.of(TestModels.branches(1), "branches", folder);
  }

  /** What hangs there is not the run, which the process has not even been able to begin. */
  @Test
  void standbyDoesNotListen_runItIsGivenIsLostForOthers() throws Exception {
    try (WorkerFixture workers = workers(1);
        ModelSession session = workers.gated(branches(), workers.filled(branches()))) {
      float[] expected = workers.run(session, X);
      while (workers.in(WorkerState.STANDBY).filter(it -> !it.models().isEmpty()).isEmpty()) {
        LockSupport.parkNanos(1_000_000); // It does not build any more.
      }
      Signals.stop(workers.await(WorkerState.STANDBY, 1).pid());
      ActiveWorker.kill(workers.sessions);
      WorkerLostException loss =
          assertThrows(WorkerLostException.class, () -> workers.run(session, X));
      assertEquals(WorkerLostException.Blame.OTHERS, loss.blame());
      assertTrue(loss.toString().contains("not having taken"), loss.toString());
      assertArrayEquals(expected, workers.run(session, X));
    }
  }

  /** Nobody has to end it by hand. */
  @Test
  void standbyWarmsUpForEver_runItIsGivenIsLostForOthers() throws Exception {
    try (WorkerFixture workers = workers(1);
        ModelSession session = workers.gated(branches(), workers.filled(branches()))) {
      float[] expected = workers.hangInAWarmUp(faults, session, X);
      ActiveWorker.kill(workers.sessions);
      WorkerLostException loss =
          assertThrows(WorkerLostException.class, () -> workers.run(session, X));
      assertEquals(WorkerLostException.Blame.OTHERS, loss.blame());
      assertArrayEquals(expected, workers.run(session, X));
    }
  }

  @Test
  void nextWorkerDoesNotCome_runWaitsNoLongerThanItsCaller() throws Exception {
    try (WorkerFixture workers = workers(0);
        ModelSession session = workers.gated(branches(), workers.filled(branches()))) {
      float[] expected = workers.run(session, X);
      faults.arm(Step.HELLO, Fault.HANG);
      Signals.send("KILL", workers.active().pid());
      while (workers.sessions.workers().lost() == 0) {
        LockSupport.parkNanos(1_000_000);
      }
      FloatInvocation run =
          new FloatInvocation(X, Shape.of(2, TestModels.WIDTH)) {
            @Override
            public long patienceNanos() {
              return TimeUnit.MILLISECONDS.toNanos(50);
            }
          };
      StatusException error =
          assertThrows(
              StatusException.class,
              () -> session.run(run, workers.region, bytes -> false, WeightArrivals.PRESENT));
      assertEquals(Status.UNAVAILABLE, error.status());
      assertTrue(workers.in(WorkerState.ACTIVE).isEmpty(), "it has not waited for the next");
      while (faults.isArmed(Step.HELLO)) {
        LockSupport.parkNanos(1_000_000);
      }
      Signals.send("KILL", workers.in(WorkerState.STARTING).orElseThrow().pid());
      assertArrayEquals(expected, workers.run(session, X));
    }
  }

  @Test
  void recycle_whenAllHaveEnded_isRefused() throws Exception {
    try (WorkerFixture workers = workers(0)) {
      int id = workers.await(WorkerState.ACTIVE, 0).id();
      workers.sessions.close();
      CompletableFuture<Void> done = workers.sessions.recycle(id);
      ExecutionException refused =
          assertThrows(ExecutionException.class, () -> done.get(10, TimeUnit.SECONDS));
      assertEquals(
          Status.NOT_FOUND, assertInstanceOf(StatusException.class, refused.getCause()).status());
    }
  }
}
