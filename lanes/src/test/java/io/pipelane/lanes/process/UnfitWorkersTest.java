package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.AddressRange;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.allocation.TransferMemory;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.FloatInvocation;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.execution.WorkerLostException;
import io.pipelane.lanes.execution.WorkerLostException.Blame;
import io.pipelane.lanes.process.worker.UnfitWorker;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TestModels;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is said to runs whose workers have no memory left. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UnfitWorkersTest {
  private static final ByteSize MEMORY = ByteSize.ofMebibytes(4);
  private static final ByteSize PAGE = new ByteSize(64 << 10);

  @TempDir Path folder;

  /**
   * Its process is lost while nothing else is under way, and that is not held against its model.
   */
  @Test
  void run_isToldThatOthersAreToBlame() throws Exception {
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    try (CpuDevice device = CpuDevice.openForWorkers(MEMORY, PAGE, Bandwidth.UNLIMITED);
        PersistentMemory.Account constants = device.persistent().open("test", MEMORY.bytes());
        ProcessSessionFactory sessions =
            new ProcessSessionFactory(
                device,
                device.export(),
                new TransferMemory(TestDevices.transfers()),
                new TestWorkers(1).program(UnfitWorker.class).settings())) {
      EphemeralRegion region = device.ephemeral(MEMORY.bytes());
      region.limit(MEMORY.bytes());
      AddressRange range = device.reserve(model.plan().weightBytes());
      try (ModelSession session =
          sessions.gated(model, range.address(), null, new MemoryTarget.Persistent(constants))) {
        FloatInvocation invocation =
            new FloatInvocation(WorkerFixture.random(2, 1), Shape.of(2, TestModels.WIDTH));
        WorkerLostException loss =
            assertThrows(
                WorkerLostException.class,
                () -> session.run(invocation, region, bytes -> false, WeightArrivals.PRESENT));
        assertEquals(Blame.SHORTAGE, loss.blame());
      }
    }
  }
}
