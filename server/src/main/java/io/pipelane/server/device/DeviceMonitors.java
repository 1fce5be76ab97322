package io.pipelane.server.device;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.lanes.monitor.DeviceMonitor;
import io.pipelane.lanes.monitor.HostMemory;
import io.pipelane.lanes.monitor.HostMemoryMonitor;
import io.pipelane.lanes.monitor.NvmlMonitor;
import io.pipelane.lanes.monitor.OsMonitor;
import java.lang.System.Logger.Level;
import java.util.OptionalInt;

/** The monitors that look at devices, by a device's name. */
final class DeviceMonitors {
  private static final System.Logger LOG = System.getLogger(DeviceMonitors.class.getName());
  private static final HostMemory HOST = host();

  private DeviceMonitors() {}

  private static HostMemory host() {
    HostMemory host = HostMemory.ofThisMachine();
    if (host.pressure().isEmpty()) {
      LOG.log(
          Level.INFO,
          "the host does not tell its memory pressure (/proc/pressure/memory), offline work does"
              + " not heed it");
    }
    if (host.taken().isEmpty()) {
      LOG.log(
          Level.INFO,
          "the host does not tell how much memory is taken (/proc/meminfo), offline work does not"
              + " heed it");
    }
    return host;
  }

  /** One that sees nothing but the host where a GPU has no NVML; the server runs without. */
  static DeviceMonitor of(String deviceName) {
    return new HostMemoryMonitor(ofDevice(deviceName), HOST);
  }

  private static DeviceMonitor ofDevice(String deviceName) {
    OptionalInt gpu = CudaDevice.ordinal(deviceName);
    if (gpu.isEmpty()) {
      return OsMonitor.open();
    }
    try {
      return NvmlMonitor.open(gpu.getAsInt());
    } catch (StatusException e) {
      LOG.log(Level.WARNING, "{0} is not watched: {1}", deviceName, e.getMessage());
      return DeviceMonitor.none(String.valueOf(e.getMessage()));
    }
  }
}
