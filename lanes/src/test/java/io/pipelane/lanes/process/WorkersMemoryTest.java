package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What workers of the processor have of its memory. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkersMemoryTest {
  /** No virtual machine does with less. */
  private static final long LEAST = 8 << 20;

  @TempDir Path folder;
  private final WorkerFixture workers = new WorkerFixture(new TestWorkers(1));

  @AfterEach
  void nothingIsLeft() {
    workers.close();
  }

  @Test
  void frameworkBytes_countWhatEachWorkerTakesForItself() throws Exception {
    assumeFalse(TestDevices.ON_GPU);
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (ModelSession session = workers.gated(model, workers.filled(model))) {
      float[] _ = workers.run(session, WorkerFixture.random(2, 1));
      workers.awaitStandby(1);
      long constants = workers.constants.usedBytes() / 2; // Each worker's.
      List<WorkersOverview.Entry> all = workers.sessions.workers().workers();
      for (WorkersOverview.Entry worker : all) {
        assertTrue(worker.frameworkBytes() > LEAST, worker::toString);
        assertEquals(worker.memoryBytes() - constants, worker.frameworkBytes());
        assertEquals(worker.memoryBytes(), worker.deviceBytes());
      }
      assertEquals(2, all.size());
      assertTrue(workers.sessions.frameworkBytes() > 2 * LEAST);
    }
  }
}
