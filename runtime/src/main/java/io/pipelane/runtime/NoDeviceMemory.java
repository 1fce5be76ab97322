package io.pipelane.runtime;

/**
 * Device memory of an environment whose sessions all use ONNX Runtime's own: it has none to give.
 */
public final class NoDeviceMemory implements DeviceAllocator {
  @Override
  public long allocate(long bytes) {
    return 0;
  }

  @Override
  public void free(long address) {
    throw new IllegalArgumentException("nothing was allocated");
  }
}
