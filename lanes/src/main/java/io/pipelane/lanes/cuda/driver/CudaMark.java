package io.pipelane.lanes.cuda.driver;

import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/**
 * A point in a stream's work (a CUDA event), set by {@link CudaStream#record} as often as wanted.
 * Safe for any thread, but recording again belongs to one.
 */
public final class CudaMark implements AutoCloseable {
  private static final class Handle extends CUevent {
    long address() {
      return getNativePointer();
    }
  }

  private final Handle handle = new Handle();
  private boolean closed;

  private CudaMark(CudaContext context, int flags) {
    context.bind();
    int result = JCudaDriver.cuEventCreate(handle, flags);
    if (result != 0) {
      throw CudaException.of(result, "cuEventCreate", flags);
    }
  }

  /** Creates a mark that only orders work. */
  public static CudaMark untimed(CudaContext context) {
    return new CudaMark(
        context, CUevent_flags.CU_EVENT_BLOCKING_SYNC | CUevent_flags.CU_EVENT_DISABLE_TIMING);
  }

  /** Creates a mark that notes the time as well. */
  public static CudaMark timed(CudaContext context) {
    return new CudaMark(context, CUevent_flags.CU_EVENT_BLOCKING_SYNC);
  }

  /**
   * Whether the work before the last recording is done; true where there was none. Not to be asked
   * in a loop: that keeps other threads from launching work.
   */
  public boolean isDone() {
    int result = JCudaDriver.cuEventQuery(handle);
    if (result != 0 && result != CUresult.CUDA_ERROR_NOT_READY) {
      throw failure(result, "cuEventQuery");
    }
    return result == 0;
  }

  /**
   * Blocks the calling platform thread, off the processor, until {@link #isDone}; it wakes up some
   * 0.5 ms late.
   */
  public void await() {
    int result = JCudaDriver.cuEventSynchronize(handle);
    if (result != 0) {
      throw failure(result, "cuEventSynchronize");
    }
  }

  /** Device time in milliseconds from an earlier mark to this one; both timed and done. */
  public double millisSince(CudaMark earlier) {
    float[] millis = new float[1];
    int result = JCudaDriver.cuEventElapsedTime(millis, earlier.handle, handle);
    if (result != 0) {
      throw CudaException.of(
          result, "cuEventElapsedTime", earlier.handle.address(), handle.address());
    }
    return millis[0];
  }

  CUevent handle() {
    return handle;
  }

  long address() {
    return handle.address();
  }

  /** Destroys the mark; work that waits for it still does. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      int result = JCudaDriver.cuEventDestroy(handle);
      if (result != 0) {
        throw failure(result, "cuEventDestroy");
      }
    }
  }

  private CudaException failure(int result, String function) {
    return CudaException.of(result, function, handle.address());
  }
}
