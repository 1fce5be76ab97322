package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** A switcher of sessions bound to lanes, with working memory for three of them. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class BoundSessionsFixture {
  static final long MIB = 1 << 20;
  static final long WEIGHTS = 256 << 10;
  static final long MODEL = 64 << 10;
  static final long SESSION = 20 * MIB;
  static final long WORKING = 3 * SESSION + 10 * MIB;

  final Device device =
      CpuDevice.open(new ByteSize(WEIGHTS), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
  final DeviceMemory memory = new DeviceMemory(device.persistent());
  final BoundSessions sessions = new BoundSessions(memory, SESSION);
  final Switcher switcher =
      new Switcher(
          device,
          memory,
          sessions,
          SwitcherSettings.of(WEIGHTS, WORKING, 2, 1_000, 1 << 20, new EqualBytesGrouping(8, 1)),
          BoundSessions::weights);

  @AfterEach
  void everythingIsGivenBack() {
    switcher.verify();
    switcher.close();
    assertEquals(0, sessions.open.get());
    assertEquals(0, device.persistent().usedBytes());
    device.close();
  }
}
