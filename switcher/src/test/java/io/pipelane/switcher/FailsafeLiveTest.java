package io.pipelane.switcher;

import io.pipelane.lanes.Device;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;

class FailsafeLiveTest extends FailsafeContract {
  @Override
  Device open() {
    return TestDevices.open(WEIGHTS, PAGE);
  }

  @Override
  SessionFactory sessions(Device device, DeviceMemory memory) {
    return TestDevices.sessions(device, memory);
  }
}
