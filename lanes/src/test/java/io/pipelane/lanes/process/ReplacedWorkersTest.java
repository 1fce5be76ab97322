package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.section.WorkersConfig.SwitchOn;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Runs in a worker that is to be replaced. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReplacedWorkersTest {
  private static final float[] X = WorkerFixture.random(2, 1);

  @TempDir Path folder;

  /** Weights that are there, of a run that stands at its first gate until it is begun anew. */
  private static final class StoppedAtFirst implements PresentWeights {
    final CompletableFuture<StopWord> word = new CompletableFuture<>();
    final AtomicInteger begun = new AtomicInteger();
    private boolean isOver;

    /** Tells it to stop again and again, until it is over or somebody has enough. */
    void stopUntil(BooleanSupplier enough) {
      StopWord told = word.join();
      while (!enough.getAsBoolean()) {
        synchronized (this) {
          if (!isOver) {
            told.allow(0);
          }
        }
      }
    }

    private synchronized void over() {
      isOver = true;
    }

    @Override
    public int segmentsAhead() {
      return 1;
    }

    @Override
    public Elsewhere computesElsewhere(StopWord stopWord) {
      begun.incrementAndGet();
      if (word.complete(stopWord)) {
        stopWord.allow(0);
      }
      return this::over;
    }
  }

  @Test
  void recycle_aRunStandsAtItsGate_endsThereAndIsAnsweredByTheNextWorker() throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (WorkerFixture workers = new WorkerFixture(new TestWorkers(1));
        ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, X);
      workers.awaitStandby(1);
      int replaced = workers.active().id();
      StoppedAtFirst stopped = new StoppedAtFirst();
      CompletableFuture<float[]> answer =
          CompletableFuture.supplyAsync(() -> workers.run(session, X, bytes -> false, stopped));
      StopWord word = stopped.word.get();
      while (!word.stands()) {
        Thread.onSpinWait();
      }
      workers.sessions.recycle(replaced).get();
      assertArrayEquals(expected, answer.get());
      assertNotEquals(replaced, workers.active().id());
      assertEquals(0, workers.sessions.workers().lost());
    }
  }

  @Test
  void recycle_aRunIsToldToStopAllTheTime_endsAllTheSame() throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (WorkerFixture workers = new WorkerFixture(new TestWorkers(1));
        ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, X);
      workers.awaitStandby(1);
      StoppedAtFirst stopped = new StoppedAtFirst();
      CompletableFuture<float[]> answer =
          CompletableFuture.supplyAsync(() -> workers.run(session, X, bytes -> false, stopped));
      StopWord _ = stopped.word.get();
      CompletableFuture<Void> recycled = workers.sessions.recycle(workers.active().id());
      stopped.stopUntil(recycled::isDone);
      recycled.get();
      assertArrayEquals(expected, answer.get());
    }
  }

  /** The run stands until another worker has taken over, then it goes on. */
  @Test
  void recycle_aRunIsUnderWay_isFinishedBesideTheSuccessor() throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (WorkerFixture patient = new WorkerFixture(new TestWorkers(1).grace(Duration.ofHours(1)));
        ModelSession session = patient.gated(model, patient.filled(model))) {
      float[] expected = patient.run(session, X);
      patient.awaitStandby(1);
      int replaced = patient.active().id();
      StoppedAtFirst stopped = new StoppedAtFirst();
      CompletableFuture<float[]> answer =
          CompletableFuture.supplyAsync(() -> patient.run(session, X, bytes -> false, stopped));
      StopWord word = stopped.word.get();
      CompletableFuture<Void> _ = patient.sessions.recycle(replaced);
      while (patient.in(WorkerState.RETIRING).isEmpty()) {
        Thread.onSpinWait();
      }
      assertNotEquals(replaced, patient.active().id());
      word.allow(1);
      assertArrayEquals(expected, answer.get());
      assertEquals(1, stopped.begun.get(), "it is not begun anew");
      assertArrayEquals(expected, patient.run(session, X), "the successor's");
      assertEquals(0, patient.sessions.workers().lost());
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = SwitchOn.class,
      names = {"FAULT", "MODEL"})
  void anotherTakesOver_processStaysForAWhileUnlessAllEnd(SwitchOn switchOn) throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (WorkerFixture patient =
            new WorkerFixture(new TestWorkers(1).switchOn(switchOn).grace(Duration.ofHours(1)));
        ModelSession session = patient.gated(model, patient.filled(model))) {
      boolean isShared = switchOn == SwitchOn.FAULT;
      patient.run(session, X, isShared ? "" : "a");
      patient.awaitStandby(1);
      WorkersOverview.Entry before = patient.active();
      if (isShared) {
        CompletableFuture<Void> _ = patient.sessions.recycle(before.id());
      }
      String next = isShared ? "" : "b";
      while (patient.in(WorkerState.RETIRING).isEmpty()) {
        patient.run(session, X, next);
      }
      for (int i = 0; i < 100; i++) {
        patient.run(session, X, next);
      }
      assertEquals(before.id(), patient.in(WorkerState.RETIRING).orElseThrow().id());
      assertTrue(ProcessHandle.of(before.pid()).filter(ProcessHandle::isAlive).isPresent());
    }
  }
}
