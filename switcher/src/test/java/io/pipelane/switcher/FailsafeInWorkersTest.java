package io.pipelane.switcher;

import io.pipelane.lanes.Device;
import io.pipelane.lanes.SharedDevice;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.TestWorkers;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;
import java.time.Duration;

/** The same with a worker process. */
class FailsafeInWorkersTest extends FailsafeContract {
  @Override
  Device open() {
    return TestDevices.openForWorkers(WEIGHTS, PAGE);
  }

  @Override
  SessionFactory sessions(Device device, DeviceMemory memory) {
    return TestDevices.workers(
        (SharedDevice) device,
        new TestWorkers(0).lanes(2 * LANES).hangTimeout(Duration.ofSeconds(60)));
  }
}
