package io.pipelane.modelstore.importing;

import io.pipelane.runtime.DeviceAllocator;

/** Lends nothing: the sessions of an import live in ONNX Runtime's own memory. */
final class NoDeviceMemory implements DeviceAllocator {
  @Override
  public long allocate(long bytes) {
    return 0;
  }

  @Override
  public void free(long address) {
    throw new IllegalStateException("nothing was allocated at " + address);
  }
}
