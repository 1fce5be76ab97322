package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
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
import io.pipelane.lanes.process.worker.PretendingWorker;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the server makes of answers that only a GPU's workers give; these pretend to be some. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("NullAway.Init") // build() fills the fields.
class PretendedAnswersTest {
  private static final ByteSize MEMORY = ByteSize.ofMebibytes(4);
  private static final ByteSize PAGE = new ByteSize(64 << 10);

  @TempDir Path folder;

  private final CpuDevice device = CpuDevice.openForWorkers(MEMORY, PAGE, Bandwidth.UNLIMITED);
  private final EphemeralRegion region = device.ephemeral(MEMORY.bytes());
  private final PersistentMemory.Account constants =
      device.persistent().open("test", MEMORY.bytes());
  private final ProcessSessionFactory sessions =
      new ProcessSessionFactory(
          device,
          device.export(),
          new TransferMemory(TestDevices.transfers()),
          new TestWorkers(1).program(PretendingWorker.class).settings());

  private ModelSession session;

  @BeforeEach
  void build() throws Exception {
    region.limit(MEMORY.bytes());
    ImportedModel model = TestImports.of(TestModels.branches(1), "branches", folder);
    AddressRange range = device.reserve(model.plan().weightBytes());
    session = sessions.gated(model, range.address(), null, new MemoryTarget.Persistent(constants));
  }

  @AfterEach
  void end() {
    session.close();
    constants.close();
    sessions.close();
    device.close();
  }

  @Test
  void shrink_whatTheSessionHoldsThenIsWhatCounts() {
    int workers = sessions.processes();
    assertEquals(workers * PretendingWorker.HELD_BYTES, session.frameworkBytes());
    session.shrink();
    assertEquals(workers * PretendingWorker.SHRUNK_BYTES, session.frameworkBytes());
  }

  /** It went to the lane instead, which had no room for it: more of a lane is no help. */
  @Test
  void run_placeOfItsOutputWasRefused_failsForThat() {
    StatusException noRoom =
        new StatusException(Status.INSUFFICIENT_MEMORY, "there is no room for the state");
    float[] x = WorkerFixture.random(2, 1);
    FloatInvocation invocation =
        new FloatInvocation(x, Shape.of(2, TestModels.WIDTH)) {
          @Override
          public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
            throw noRoom;
          }
        };
    assertSame(
        noRoom,
        assertThrows(
            StatusException.class,
            () -> session.run(invocation, region, bytes -> false, WeightArrivals.PRESENT)));
    assertEquals(0, region.usedBytes());
  }
}
