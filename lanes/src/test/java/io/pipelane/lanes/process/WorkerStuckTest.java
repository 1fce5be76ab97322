package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.execution.WorkerStuckException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers that signal 9 does not end, for as long as a test wants. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkerStuckTest {
  private static final Duration HANG = Duration.ofMillis(TestDevices.ON_GPU ? 4_000 : 500);
  private static final float[] X = WorkerFixture.random(2, 1);

  @TempDir Path folder;
  private final StubbornProcesses processes = new StubbornProcesses();
  private final WorkerFixture workers =
      new WorkerFixture(
          new TestWorkers(1)
              .hangTimeout(HANG)
              .endTimeout(Duration.ofMillis(200))
              .launcher(processes));

  @AfterEach
  void nothingIsLeft() {
    processes.letGo();
    workers.close();
  }

  private ImportedModel branches() throws Exception {
    return TestImports.of(TestModels.branches(1), "branches", folder);
  }

  private static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** There is one lane, so nothing is run until the process is gone, though another could. */
  @Test
  void run_workerThatStaysThoughItIsKilled_endsAndItsLaneIsLentAgainOnceThatIsGone()
      throws Exception {
    try (ModelSession session = workers.gated(branches(), workers.filled(branches()))) {
      float[] expected = workers.run(session, X);
      workers.awaitStandby(1);
      Signals.stop(workers.active().pid());
      WorkerStuckException stuck =
          assertThrows(WorkerStuckException.class, () -> workers.run(session, X));
      assertEquals(Blame.OTHERS, stuck.blame(), "it has not begun there");
      String reason = String.valueOf(stuck.getMessage());
      assertTrue(reason.contains("hangs") && reason.contains("still keeps it"), reason);
      assertTrue(processes.isOneKept());
      CompletableFuture<Void> gone = CompletableFuture.runAsync(stuck::awaitGone);
      await(workers.sessions::isLost);
      StatusException refused = assertThrows(StatusException.class, () -> workers.run(session, X));
      assertEquals(Status.UNAVAILABLE, refused.status());
      assertTrue(refused.toString().contains("still keeps it"), refused.toString());
      assertFalse(gone.isDone());
      processes.letGo();
      gone.join();
      assertFalse(workers.sessions.isLost());
      assertArrayEquals(expected, workers.run(session, X));
      assertEquals(1, workers.sessions.workers().lost());
    }
  }

  /** Building is lent nothing, so another builds it. */
  @Test
  void gated_workerThatStaysThoughItIsKilled_isBuiltElsewhere() throws Exception {
    workers.awaitStandby(0);
    WorkersOverview.Entry active = workers.active();
    Signals.stop(active.pid());
    ImportedModel model = branches();
    AddressRange range = workers.filled(model);
    CompletableFuture<ModelSession> building =
        CompletableFuture.supplyAsync(() -> workers.gated(model, range));
    await(() -> workers.active().sessions() > 0);
    assertTrue(workers.sessions.reset("ended on purpose"));
    ExecutionException lost = assertThrows(ExecutionException.class, building::get);
    assertInstanceOf(WorkerLostException.class, lost.getCause(), "it may be done once more");
    await(() -> workers.in(WorkerState.ACTIVE).filter(it -> it.id() != active.id()).isPresent());
    try (ModelSession session = workers.gated(model, range)) {
      assertArrayEquals(workers.run(session, X), workers.run(session, X));
      assertFalse(workers.sessions.isLost());
      assertTrue(processes.isOneKept());
    }
  }

  /** It runs nothing, so nothing waits for it but who wanted it replaced. */
  @Test
  void recycle_workerThatDoesNotLeaveAndStays_saysSoAndOthersRun() throws Exception {
    try (ModelSession session = workers.gated(branches(), workers.filled(branches()))) {
      float[] expected = workers.run(session, X);
      workers.awaitStandby(1);
      WorkersOverview.Entry active = workers.active();
      Signals.stop(active.pid());
      CompletableFuture<Void> recycled = workers.sessions.recycle(active.id());
      StatusException error =
          assertInstanceOf(
              StatusException.class,
              assertThrows(ExecutionException.class, recycled::get).getCause());
      assertEquals(Status.UNAVAILABLE, error.status());
      assertTrue(error.toString().contains("did not end when it was told to"), error.toString());
      assertArrayEquals(expected, workers.run(session, X));
      assertFalse(workers.sessions.isLost());
    }
  }
}
