package io.pipelane.lanes.execution;

import io.pipelane.runtime.DeviceAllocator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * The allocator of several devices whose memory is of one kind to ONNX Runtime, which keeps one
 * allocator for each kind. An allocation goes to the device that the calling thread works for, a
 * free to the one that the address is of.
 */
public final class JointMemory implements DeviceAllocator {
  private final List<DeviceMemory> devices = new CopyOnWriteArrayList<>();

  /** Takes a device's memory in, before sessions are built there. */
  public void add(DeviceMemory device) {
    devices.add(device);
  }

  /** Threads that work for no device are the first one's. */
  @Override
  public long allocate(long bytes) {
    @Nullable DeviceMemory own = DeviceMemory.ofThread();
    return (own == null ? devices.getFirst() : own).allocate(bytes);
  }

  @Override
  public void free(long address) {
    for (DeviceMemory device : devices) {
      if (device.tryFree(address)) {
        return;
      }
    }
    throw new IllegalArgumentException(
        "0x" + Long.toHexString(address) + " was allocated on no device");
  }
}
