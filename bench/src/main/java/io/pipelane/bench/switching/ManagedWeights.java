package io.pipelane.bench.switching;

import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.MemorySource;
import java.lang.foreign.MemorySegment;
import java.util.List;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUmemAttach_flags;
import jcuda.driver.JCudaDriver;

/**
 * Weights in managed memory, whose pages the driver moves when somebody touches them (PipeSwitch's
 * "unified memory"); nothing is prefetched.
 */
final class ManagedWeights implements WeightArrivals, AutoCloseable {
  private final CudaContext context;
  private final MemorySource weights;
  private final Pointer pointer = new Pointer();

  /** Takes managed memory; the caller keeps it well below what the device has free. */
  ManagedWeights(CudaContext context, MemorySource weights) {
    this.context = context;
    this.weights = weights;
    context.bind();
    require(
        JCudaDriver.cuMemAllocManaged(
            pointer, weights.byteSize(), CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL));
    bringHome();
  }

  long address() {
    return pointer.address();
  }

  /** Writes the weights on the processor, which brings every page to the host. */
  void bringHome() {
    context.bind();
    MemorySegment.ofAddress(address()).reinterpret(weights.byteSize()).copyFrom(weights.bytes());
  }

  @Override
  public void await(int segment) {
    // They come when they are touched.
  }

  @Override
  public List<DeviceEvent> before(int segment) {
    return List.of();
  }

  @Override
  public void stalled(long nanos) {
    // The whole run is timed.
  }

  @Override
  public void close() {
    context.bind();
    require(JCudaDriver.cuMemFree(pointer));
  }

  private static void require(int result) {
    if (result != 0) {
      throw new IllegalStateException("managed memory: " + jcuda.driver.CUresult.stringFor(result));
    }
  }

  private static final class Pointer extends CUdeviceptr {
    long address() {
      return getNativePointer() + getByteOffset();
    }
  }
}
