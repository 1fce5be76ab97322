package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.ChangedPlans;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A run that hangs before any has told how long such runs take. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FirstRunsTest {
  private static final float[] X = WorkerFixture.random(2, 1);

  @TempDir Path folder;
  private final ArmedFaults faults = ArmedFaults.of(ProcessHandle.current().pid());
  private final WorkerFixture workers =
      new WorkerFixture(
          new TestWorkers(1).program(FaultyWorker.class).hangTimeout(Duration.ofHours(1)));

  @AfterEach
  void nothingIsLeft() throws IOException {
    workers.close();
    faults.close();
  }

  @Test
  void run_firstOfItsKindHangs_isEndedByWhatThePlanExpects() throws Exception {
    ImportedModel imported = TestImports.of(TestModels.branches(1), "branches", folder);
    ImportedModel model =
        new ImportedModel(
            imported.version(),
            ChangedPlans.withEstimates(imported.plan(), 1_000_000),
            imported.gatedModel(),
            imported.weights());
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      workers.awaitStandby(1);
      faults.arm(Step.RUNNING, Fault.HANG);
      WorkerLostException lost =
          assertThrows(WorkerLostException.class, () -> workers.run(session, X));
      assertTrue(String.valueOf(lost.getMessage()).contains("for PT10S"), lost::toString);
      assertArrayEquals(workers.run(session, X), workers.run(session, X));
    }
  }
}
