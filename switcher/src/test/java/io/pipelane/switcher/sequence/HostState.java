package io.pipelane.switcher.sequence;

import io.pipelane.lanes.DeviceStates;
import io.pipelane.lanes.DeviceStates.State;
import java.lang.foreign.MemorySegment;

/** Host memory that stands for a device's; tests override what is to be counted or to fail. */
class HostState implements State {
  private final State host;

  HostState(long bytes) {
    this.host = DeviceStates.ON_HOST.take(bytes);
  }

  @Override
  public MemorySegment memory() {
    return host.memory();
  }

  @Override
  public void read(MemorySegment to) {
    host.read(to);
  }

  @Override
  public void write(MemorySegment from) {
    host.write(from);
  }

  @Override
  public void close() {
    host.close();
  }
}
