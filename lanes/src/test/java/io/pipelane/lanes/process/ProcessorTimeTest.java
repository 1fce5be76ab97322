package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ProcessorTimeTest {
  private static final long TICK_NANOS = 10_000_000;

  @Test
  @Timeout(60)
  void ofProcess_thatIsBusy_grows() {
    long pid = ProcessHandle.current().pid();
    long before = ProcessorTime.ofProcess(pid);
    while (ProcessorTime.ofProcess(pid) < before + 5 * TICK_NANOS) {
      Thread.onSpinWait();
    }
  }

  @Test
  void ofProcess_isWhatTheMachineCounts() {
    var system =
        (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long least = system.getProcessCpuTime();
    long read = ProcessorTime.ofProcess(ProcessHandle.current().pid());
    long most = system.getProcessCpuTime();
    assertTrue(
        read >= least - 2 * TICK_NANOS && read <= most + 2 * TICK_NANOS, () -> least + " " + most);
  }

  @Test
  void ofProcess_thatIsNone_isNothing() {
    assertEquals(0, ProcessorTime.ofProcess(Long.MAX_VALUE));
  }
}
