package io.pipelane.lanes.cuda.driver;

import jcuda.driver.CUdeviceptr;
import jcuda.driver.JCudaDriver;

/** Plain memory of a device, which other devices with access to it read too. */
public final class DeviceBuffer implements AutoCloseable {
  private static final class Handle extends CUdeviceptr {
    long address() {
      return getNativePointer();
    }
  }

  private final CudaContext context;
  private final Handle handle = new Handle();
  private boolean closed;

  private DeviceBuffer(CudaContext context, long bytes) {
    this.context = context;
    context.bind();
    int result = JCudaDriver.cuMemAlloc(handle, bytes);
    if (result != 0) {
      throw CudaException.of(result, "cuMemAlloc", bytes);
    }
  }

  public static DeviceBuffer allocate(CudaContext context, long bytes) {
    return new DeviceBuffer(context, bytes);
  }

  public long address() {
    return handle.address();
  }

  /** Gives the memory back, once the device's work is done. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      context.bind();
      int result = JCudaDriver.cuMemFree(handle);
      if (result != 0) {
        throw CudaException.of(result, "cuMemFree", handle.address());
      }
    }
  }
}
