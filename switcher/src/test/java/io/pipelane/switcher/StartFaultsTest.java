package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Workers that fail while they start, and build what the others have. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StartFaultsTest {
  /** What a start takes on a busy machine, and little more, as it is waited for. */
  private static final Duration LONGEST_START =
      Duration.ofSeconds(Boolean.getBoolean("pipelane.long") ? 40 : 8);

  private static final Set<Step> OF_STARTS =
      EnumSet.of(Step.OPENING, Step.HELLO, Step.BUILDING, Step.BUILT);
  private static final float[] X = WorkersFixture.input(1);

  @TempDir Path folder;
  private final ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());
  private final WorkersFixture workers =
      new WorkersFixture(
          new TestWorkers(1).program(FaultyWorker.class).startTimeout(LONGEST_START));
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

  /** The successor of the one that is killed fails, and has a successor itself. */
  private String lossOfNewWorker(Step step, Fault fault) {
    long before = workers.lost();
    faults.arm(step, fault);
    workers.killActive();
    assertArrayEquals(expected, workers.infer(model, X), fault + " at " + step);
    workers.settle(before + 2);
    assertArrayEquals(expected, workers.infer(model, X), "after " + fault + " at " + step);
    return workers.workers.workers().lastLoss();
  }

  private void assertLostFor(String why, Step step, Fault fault) {
    String loss = lossOfNewWorker(step, fault);
    assertTrue(loss.contains(why), fault + " at " + step + ": " + loss);
  }

  @Test
  void newWorkerIsKilledAtEachStep_anotherIsStarted() {
    for (Step step : OF_STARTS) {
      assertLostFor("signal 9", step, Fault.KILL);
    }
  }

  /** It is not waited for: what it says is seen to be nothing. */
  @Test
  void newWorkerWritesGarbage_isEndedForThatAndAnotherIsStarted() {
    assertLostFor("does not keep to the protocol", Step.OPENING, Fault.GARBAGE);
  }

  /** Before its hello it is waited for by one thread, and afterwards by another. */
  @Test
  void newWorkerHangs_isEndedInTimeAndAnotherIsStarted() {
    assertLostFor("it was not ready after " + LONGEST_START, Step.OPENING, Fault.HANG);
  }

  @Test
  @Tag("long")
  @Timeout(value = 10, unit = TimeUnit.MINUTES)
  void newWorkerFailsInEachWayAtEachStep_anotherIsStarted() {
    for (Step step : OF_STARTS) {
      assertLostFor("does not keep to the protocol", step, Fault.GARBAGE);
      for (Fault fault : EnumSet.of(Fault.ABORT, Fault.EXIT, Fault.HANG, Fault.OUT_OF_MEMORY)) {
        String _ = lossOfNewWorker(step, fault);
      }
    }
    assertLostFor("it hangs", Step.BUILDING, Fault.HANG);
  }
}
