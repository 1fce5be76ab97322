package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.process.ArmedFaults.Fault;
import io.pipelane.lanes.process.worker.FaultyWorker;
import io.pipelane.lanes.process.worker.WorkerSteps.Step;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A session that standbys do not build any more, as two of them were lost while they did. */
@Timeout(value = 400, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LeftSessionsTest {
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

  private void awaitBuilt() throws InterruptedException {
    while (workers.in(WorkerState.STANDBY).filter(it -> !it.models().isEmpty()).isEmpty()) {
      Thread.sleep(1); // Ends where the test has run out of time.
    }
  }

  private void end(WorkersOverview.Entry worker) throws InterruptedException {
    long lost = workers.sessions.workers().lost();
    Signals.send("KILL", worker.pid());
    awaitLost(lost + 1);
  }

  private void awaitLost(long count) throws InterruptedException {
    while (workers.sessions.workers().lost() < count) {
      Thread.sleep(1); // Ends where the test has run out of time.
    }
  }

  @Test
  void run_buildsIt_standbysDoSoAgain() throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] expected = workers.run(session, X);
      awaitBuilt();
      faults.arm(Step.BUILDING, Fault.EXIT);
      end(workers.in(WorkerState.STANDBY).orElseThrow());
      awaitLost(2);
      faults.arm(Step.BUILDING, Fault.EXIT);
      awaitLost(3);
      workers.awaitStandby(0);
      end(workers.active()); // Whose successor has not built it,
      workers.awaitStandby(0); // nor has the next.
      assertArrayEquals(expected, workers.run(session, X));
      awaitBuilt();
    }
  }
}
