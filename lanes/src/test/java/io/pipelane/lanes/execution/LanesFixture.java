package io.pipelane.lanes.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
import org.junit.jupiter.api.AfterEach;

/** Two lanes at most, in ten mebibytes of a device; whoever uses them leaves everything free. */
abstract class LanesFixture {
  static final long MIB = 1 << 20;
  static final long CAPACITY = 10 * MIB;

  final Device device =
      CpuDevice.open(new ByteSize(MIB), new ByteSize(64 << 10), Bandwidth.UNLIMITED);
  final DeviceMemory memory = new DeviceMemory(device.persistent());
  final Lanes lanes = new Lanes(device, memory, CAPACITY, 2, 0);

  @AfterEach
  void everythingIsFree() {
    lanes.checkSafety();
    assertEquals(CAPACITY, lanes.freeBytes());
    lanes.close();
    device.close();
  }
}
