package io.pipelane.lanes.monitor;

import java.util.List;
import java.util.OptionalLong;

/** A device's monitor whose samples tell the memory pressure of its host, too. */
public final class HostMemoryMonitor implements DeviceMonitor {
  private final DeviceMonitor device;
  private final HostMemory host;
  private final String source;

  /**
   * Looks at both.
   *
   * @param device closed with this
   */
  public HostMemoryMonitor(DeviceMonitor device, HostMemory host) {
    this.device = device;
    this.host = host;
    this.source =
        host.pressure().isPresent()
            ? device.source()
            : device.source() + ", the host's memory pressure unknown";
  }

  @Override
  public DeviceSample sample() {
    return device.sample().onHost(host.pressure(), host.taken());
  }

  @Override
  public List<DeviceError> errors() {
    return device.errors();
  }

  @Override
  public OptionalLong memoryBytes() {
    return device.memoryBytes();
  }

  @Override
  public String source() {
    return source;
  }

  @Override
  public void close() {
    device.close();
  }
}
