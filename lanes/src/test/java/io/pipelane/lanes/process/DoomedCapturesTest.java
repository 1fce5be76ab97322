package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.process.worker.DoomedCaptures;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A model that costs its worker when it is captured, after each answer that comes to that. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DoomedCapturesTest {
  private static final ByteSize MEMORY = ByteSize.ofMebibytes(4);
  private static final ByteSize PAGE = new ByteSize(64 << 10);
  private static final int RUNS_BETWEEN_LOSSES = 2;

  @TempDir Path folder;

  private final CpuDevice device = CpuDevice.openForWorkers(MEMORY, PAGE, Bandwidth.UNLIMITED);
  private final EphemeralRegion region = device.ephemeral(MEMORY.bytes());
  private final PersistentMemory.Account constants =
      device.persistent().open("test", MEMORY.bytes());
  private final ProcessSessionFactory sessions =
      new ProcessSessionFactory(
          device, new TestWorkers(1).program(DoomedCaptures.class).settings());

  @AfterEach
  void end() {
    constants.close();
    sessions.close();
    device.close();
  }

  private void awaitLost(long count) {
    while (sessions.workers().lost() < count) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  private void run(ModelSession session) {
    float[] x = WorkerFixture.random(2, 1);
    session.run(
        new FloatInvocation(x, Shape.of(2, TestModels.WIDTH)),
        region,
        bytes -> false,
        WeightArrivals.PRESENT);
  }

  @Test
  void run_capturesCostTwoWorkersInARow_answersAndMakesNoMoreUntilItIsLoadedAnew()
      throws Exception {
    region.limit(MEMORY.bytes());
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    AddressRange range = device.reserve(model.plan().weightBytes());
    try (ModelSession session =
        sessions.gated(model, range.address(), null, new MemoryTarget.Persistent(constants))) {
      for (int lost = 1; lost <= 2; lost++) {
        for (int i = 0; i < RUNS_BETWEEN_LOSSES; i++) {
          run(session);
        }
        awaitLost(lost);
      }
      int survivor = 0;
      for (int i = 0; i < 3 * RUNS_BETWEEN_LOSSES; i++) {
        run(session);
        survivor = i == 0 ? ActiveWorker.of(sessions).id() : survivor;
      }
      assertEquals(survivor, ActiveWorker.of(sessions).id());
      assertEquals(2, sessions.workers().lost());
      assertTrue(
          session.notes().toString().contains("cost two worker"), session.notes().toString());
      sessions.forget(model);
      assertTrue(session.notes().isEmpty());
      for (int i = 0; i < RUNS_BETWEEN_LOSSES; i++) {
        run(session);
      }
      awaitLost(3); // It is captured again where it was not to be.
    }
  }
}
