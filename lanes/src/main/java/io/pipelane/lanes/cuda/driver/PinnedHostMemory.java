package io.pipelane.lanes.cuda.driver;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import jcuda.driver.JCudaDriver;

/**
 * Host memory that the device copies from and to at the link's speed: page-locked, and known to
 * every context, whose kernels may read it too ({@link CudaContext#readsPinnedMemory}). Any thread
 * may use it.
 */
public final class PinnedHostMemory implements AutoCloseable {
  private final CudaContext context;
  private final MemorySegment segment;
  private final DriverFunction undo;
  private boolean closed;

  private PinnedHostMemory(CudaContext context, MemorySegment segment, DriverFunction undo) {
    this.context = context;
    this.segment = segment;
    this.undo = undo;
    context.pinned().add(segment);
  }

  /** Takes memory; it is dead after {@link #close}. */
  public static PinnedHostMemory allocate(CudaContext context, long bytes) {
    context.bind();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment answer = arena.allocate(JAVA_LONG);
      context
          .functions()
          .hostAllocate
          .call(answer.address(), bytes, JCudaDriver.CU_MEMHOSTALLOC_PORTABLE);
      MemorySegment segment = MemorySegment.ofAddress(answer.get(JAVA_LONG, 0)).reinterpret(bytes);
      return new PinnedHostMemory(context, segment, context.functions().hostFree);
    }
  }

  /**
   * Pins memory that is there, about 32 ms per GiB; it must stay until {@link #close}, which only
   * takes the pin away.
   *
   * @param memory native, whole system pages; one that is read only can be copied from only
   */
  public static PinnedHostMemory register(CudaContext context, MemorySegment memory) {
    context.bind();
    int flags = JCudaDriver.CU_MEMHOSTREGISTER_PORTABLE | JCudaDriver.CU_MEMHOSTREGISTER_DEVICEMAP;
    if (memory.isReadOnly()) {
      flags |= JCudaDriver.CU_MEMHOSTREGISTER_READ_ONLY;
    }
    context.functions().hostRegister.call(memory.address(), memory.byteSize(), flags);
    return new PinnedHostMemory(context, memory, context.functions().hostUnregister);
  }

  public MemorySegment segment() {
    return segment;
  }

  public long address() {
    return segment.address();
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      context.pinned().remove(segment);
      context.bind();
      undo.call(segment.address());
    }
  }
}
