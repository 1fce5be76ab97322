package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A run and a build that stand in one worker, as behind a kernel that never ends. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HangTogetherTest {
  private static final float[] X = WorkerFixture.random(2, 1);

  @TempDir Path folder;
  private final ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());
  private final WorkerFixture workers =
      new WorkerFixture(
          new TestWorkers(1)
              .program(FaultyWorker.class)
              .lanes(2)
              .hangTimeout(Duration.ofSeconds(4)));

  @AfterEach
  void nothingIsLeft() throws IOException {
    workers.close();
    faults.close();
  }

  /** The run's patience ends first. */
  @Test
  void run_aBuildStandsAsWell_eitherMayBeToBlame() throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    ImportedModel other = TestImports.of(TestModels.chain(3, 64, 1), "chain", folder);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, X);
      workers.awaitStandby(1);
      faults.arm(Step.BUILDING, Fault.HANG);
      CompletableFuture<ModelSession> building = CompletableFuture.supplyAsync(() -> build(other));
      while (faults.isArmed(Step.BUILDING)) {
        LockSupport.parkNanos(1_000_000);
      }
      faults.arm(Step.RUNNING, Fault.HANG);
      WorkerLostException lost =
          assertThrows(WorkerLostException.class, () -> workers.run(session, X));
      assertEquals(Blame.UNKNOWN, lost.blame());
      CompletionException lostToo = assertThrows(CompletionException.class, building::join);
      assertEquals(
          Blame.UNKNOWN, assertInstanceOf(WorkerLostException.class, lostToo.getCause()).blame());
      assertArrayEquals(expected, workers.run(session, X));
    }
  }

  /** On the processor it computes nothing meanwhile; behind a gate a GPU may. */
  @Test
  void run_hangsBesideOneThatStandsAtItsGate_isToBlameAlone() throws Exception {
    assumeFalse(TestDevices.ON_GPU);
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    EphemeralRegion beside = workers.device.ephemeral(16 * WorkerFixture.MIB);
    beside.limit(WorkerFixture.MIB);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, X);
      workers.awaitStandby(1);
      StoppedWeights stopped = new StoppedWeights();
      CompletableFuture<?> standing =
          CompletableFuture.runAsync(
              () ->
                  session.run(
                      new FloatInvocation(X, Shape.of(2, TestModels.WIDTH)),
                      beside,
                      bytes -> false,
                      stopped));
      StopWord word = stopped.word.get();
      while (!word.stands()) {
        Thread.onSpinWait();
      }
      faults.arm(Step.RUNNING, Fault.HANG);
      WorkerLostException lost =
          assertThrows(WorkerLostException.class, () -> workers.run(session, X));
      assertEquals(Blame.NAMED, lost.blame());
      CompletionException lostToo = assertThrows(CompletionException.class, standing::join);
      assertEquals(
          Blame.OTHERS, assertInstanceOf(WorkerLostException.class, lostToo.getCause()).blame());
      assertArrayEquals(expected, workers.run(session, X));
    } finally {
      beside.close();
    }
  }

  private ModelSession build(ImportedModel model) {
    try {
      return workers.gated(model, workers.filled(model));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
