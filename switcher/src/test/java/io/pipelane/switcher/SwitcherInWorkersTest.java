package io.pipelane.switcher;

import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.CpuDevice;
import java.time.Duration;

/** The switcher with a worker process and one that stands by is no different. */
class SwitcherInWorkersTest extends SwitcherContract {
  SwitcherInWorkersTest() {
    super(
        TestDevices.openForWorkers(WEIGHTS, PAGE),
        (device, memory) ->
            TestDevices.workers((CpuDevice) device, LANES, 1, Duration.ofSeconds(20)));
  }
}
