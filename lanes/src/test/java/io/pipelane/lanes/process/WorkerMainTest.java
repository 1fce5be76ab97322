package io.pipelane.lanes.process;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.process.channel.WorkerArea;
import io.pipelane.lanes.process.channel.WorkerArguments;
import io.pipelane.lanes.process.worker.WorkerMain;
import io.pipelane.modelstore.ChildJvm;
import io.pipelane.runtime.SharedCache;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A worker's program, started by hand. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WorkerMainTest {
  private static final int CHANNELS = 4; // of a worker with one lane

  private final SharedDevice device = WorkerFixture.openDevice();

  @AfterEach
  void closeDevice() {
    device.close();
  }

  @Test
  void main_serverOfAnotherVersion_isRefused() throws Exception {
    long self = ProcessHandle.current().pid();
    try (WorkerArea area = WorkerArea.create("pipelane-worker-test", CHANNELS)) {
      try (SharedMemory header = SharedMemory.open(self, area.descriptor(), 4096)) {
        header.segment().set(JAVA_INT, 8, WorkerArea.VERSION + 1);
      }
      Process process = start(area);
      assertTrue(process.waitFor(20, TimeUnit.SECONDS));
      assertTrue(process.exitValue() != 0);
      assertEquals(WorkerArea.REFUSED, area.hello().value());
      assertTrue(
          area.helloText().contains("version " + (WorkerArea.VERSION + 1)), area.helloText());
    }
  }

  @Test
  void main_serverIsGone_ends() throws Exception {
    try (WorkerArea area = WorkerArea.create("pipelane-worker-test", CHANNELS)) {
      Process process = start(area);
      assertTrue(area.hello().awaitChange(0, 30_000_000_000L));
      assertEquals(WorkerArea.READY, area.hello().value(), area.helloText());
      process.getOutputStream().close();
      assertTrue(process.waitFor(20, TimeUnit.SECONDS));
      assertEquals(0, process.exitValue());
    }
  }

  private Process start(WorkerArea area) throws IOException {
    Path _ = SharedCache.folder(); // It begins with classes from the tests' archive.
    WorkerArguments arguments =
        new WorkerArguments(
            TestDevices.export(device),
            area.descriptor(),
            1,
            CHANNELS - 1,
            1,
            TestDevices.library());
    return ChildJvm.program(
            "exec \"$@\"", List.of(), List.of("-Xmx64m"), WorkerMain.class, arguments.toList())
        .start();
  }
}
