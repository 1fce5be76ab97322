package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.CpuRuntime;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A model that leaves while its session cannot be closed. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailedDeregistrationTest {
  private static final long MIB = 1 << 20;
  private static final int WIDTH = 64;

  @TempDir Path folder;
  private final CpuDevice device =
      CpuDevice.open(new ByteSize(MIB), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private final CpuRuntime runtime = new CpuRuntime(TestDevices.library());
  private final AtomicBoolean failing = new AtomicBoolean();
  private final Switcher switcher =
      new Switcher(
          device,
          memory,
          new WrappedSessions(runtime.sessions(device, memory, 1), FailingSession::new),
          SwitcherSettings.of(MIB, 64 * MIB, 1, 1_000, MIB, new EqualBytesGrouping(4, 1)),
          ReadWeights::of);

  @AfterEach
  void everythingIsGivenBack() {
    switcher.verify();
    switcher.close();
    device.close();
    runtime.close();
  }

  /** A session that is closed, and says that it was not. */
  private final class FailingSession extends WrappedSessions.Wrapped {
    FailingSession(ModelSession session) {
      super(session);
    }

    @Override
    public void close() {
      super.close();
      if (failing.get()) {
        throw new StatusException(Status.DEVICE_FAILURE, "the session cannot be closed");
      }
    }
  }

  @Test
  void modelWhoseSessionCannotBeClosed_leavesAllTheSame() throws Exception {
    ImportedModel model = TestImports.of(TestModels.recurrent(WIDTH), "m", folder);
    switcher.register(model, SequencesTest.keeping(Map.of("t", "s")));
    failing.set(true);
    StatusException failure =
        assertThrows(StatusException.class, () -> switcher.deregister(model.version()));
    assertEquals(Status.DEVICE_FAILURE, failure.status(), failure.getMessage());
    failing.set(false);
    switcher.register(model, SequencesTest.keeping(Map.of("t", "s")));
    switcher.deregister(model.version());
    assertEquals(0, switcher.memory().constantBytes());
  }
}
