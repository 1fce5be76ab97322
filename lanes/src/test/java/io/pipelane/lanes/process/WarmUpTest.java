package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers that stand by do what the active one does again and again, before they take over. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WarmUpTest {
  private static final float[] X = WorkerFixture.random(2, 1);
  private static final float[] LONGER = WorkerFixture.random(5, 2);

  @TempDir Path folder;
  private final WorkerFixture workers = new WorkerFixture(new TestWorkers(1));

  @AfterEach
  void nothingIsLeft() {
    workers.close();
  }

  private ImportedModel branches(long seed) throws Exception {
    return TestImports.of(TestModels.branches(seed), "branches" + seed, folder);
  }

  private void awaitWarmedUp(int atLeast) {
    while (workers
        .in(WorkerState.STANDBY)
        .filter(worker -> worker.warmedUp() >= atLeast)
        .isEmpty()) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  private void killActive() {
    long lost = workers.sessions.workers().lost();
    Signals.send("KILL", workers.active().pid());
    while (workers.sessions.workers().lost() == lost) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Test
  void run_shapesAskedForAgain_standbysAndTheirSuccessorsRunThemFirst() throws Exception {
    ImportedModel model = branches(1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, X);
      float[] longer = workers.run(session, LONGER);
      assertArrayEquals(expected, workers.run(session, X));
      awaitWarmedUp(1);
      assertArrayEquals(longer, workers.run(session, LONGER));
      awaitWarmedUp(2);
      for (int i = 0; i < 2; i++) {
        killActive();
        assertArrayEquals(expected, workers.run(session, X));
        assertArrayEquals(longer, workers.run(session, LONGER));
        awaitWarmedUp(2);
      }
    }
    assertEquals(0, workers.active().warmedUp());
  }

  /** What runs over blank weights take is not what a model's runs take. */
  @Test
  void run_inAWorkerThatHasWarmedUp_tellsTheTimesOfItselfAlone() throws Exception {
    assumeFalse(TestDevices.ON_GPU, "not each of its runs is measured");
    ImportedModel model = branches(1);
    ToldTimes told = new ToldTimes();
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, X, bytes -> false, told);
      assertArrayEquals(expected, workers.run(session, X, bytes -> false, told));
      awaitWarmedUp(1);
      assertEquals(2, told.runs.size());
      killActive();
      assertArrayEquals(expected, workers.run(session, X, bytes -> false, told));
      assertEquals(3, told.runs.size());
    }
  }

  @Test
  void run_inALaneThatIsTooSmallForAFirstRun_isRepeatedByStandbys() throws Exception {
    ImportedModel model = branches(1);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, X);
      Shape shape = Shape.of(X.length / TestModels.WIDTH, TestModels.WIDTH);
      FloatInvocation shrinking =
          new FloatInvocation(X, shape) {
            @Override
            public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
              workers.region.limit(workers.region.peakBytes() / 2);
              return super.place(name, type, shape, byteSize);
            }
          };
      session.run(shrinking, workers.region, bytes -> false, WeightArrivals.PRESENT);
      assertArrayEquals(expected, shrinking.output());
      awaitWarmedUp(1);
    }
  }

  @Test
  void takeOver_afterAWarmUp_readsPagesThatHaveMovedMeanwhile() throws Exception {
    ImportedModel model = branches(1);
    AddressRange range = workers.filled(model);
    try (ModelSession session = workers.gated(model, range)) {
      float[] expected = workers.run(session, X);
      assertArrayEquals(expected, workers.run(session, X));
      awaitWarmedUp(1);
      var other = workers.device.pages().take().orElseThrow();
      workers.device.pages().giveBack(range.unmap(0));
      range.map(0, other);
      workers.fill(model, range);
      killActive();
      assertArrayEquals(expected, workers.run(session, X));
    }
  }

  @Test
  void run_whileStandbysWarmUpOtherSessions_answersTheSame() throws Exception {
    ImportedModel first = branches(1);
    ImportedModel second = branches(2);
    try (ModelSession one = workers.gated(first, workers.filled(first));
        ModelSession other = workers.gated(second, workers.filled(second))) {
      float[] ofOne = workers.run(one, X);
      float[] ofOther = workers.run(other, X);
      for (int i = 0; i < 3; i++) {
        workers.run(one, X);
        workers.run(other, X);
        killActive(); // The next may have just begun to warm up.
        assertArrayEquals(ofOne, workers.run(one, X, bytes -> false, WeightArrivals.PRESENT));
        assertArrayEquals(ofOther, workers.run(other, X));
      }
    }
  }
}
