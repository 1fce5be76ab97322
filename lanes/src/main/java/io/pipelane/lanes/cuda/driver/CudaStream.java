package io.pipelane.lanes.cuda.driver;

import java.lang.reflect.Constructor;
import jcuda.Pointer;
import jcuda.driver.CUfunction;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstreamCaptureMode;
import jcuda.driver.CUstreamWaitValue_flags;
import jcuda.driver.CUstreamWriteValue_flags;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/**
 * A queue of work on the device, carried out in order and at the same time as other streams'.
 * Everything but {@link #synchronize} only enqueues. Safe for any thread; who enqueues from several
 * orders them himself.
 */
public final class CudaStream implements AutoCloseable {
  private static final class Handle extends CUstream {
    long address() {
      return getNativePointer();
    }
  }

  private final CudaContext context;
  private final CUstream handle;
  private final long address;
  private boolean closed;

  private CudaStream(CudaContext context, CUstream handle, long address) {
    this.context = context;
    this.handle = handle;
    this.address = address;
  }

  /** Creates a stream that does not wait for the default stream. */
  public static CudaStream open(CudaContext context) {
    context.bind();
    Handle handle = new Handle();
    int result = JCudaDriver.cuStreamCreate(handle, CUstream_flags.CU_STREAM_NON_BLOCKING);
    if (result != 0) {
      throw CudaException.of(result, "cuStreamCreate", CUstream_flags.CU_STREAM_NON_BLOCKING);
    }
    return new CudaStream(context, handle, handle.address());
  }

  /** The same, whose kernels go before those of other streams. */
  public static CudaStream openUrgent(CudaContext context) {
    context.bind();
    int[] least = new int[1];
    int[] greatest = new int[1];
    int result = JCudaDriver.cuCtxGetStreamPriorityRange(least, greatest);
    if (result != 0) {
      throw CudaException.of(result, "cuCtxGetStreamPriorityRange");
    }
    Handle handle = new Handle();
    int flags = CUstream_flags.CU_STREAM_NON_BLOCKING;
    result = JCudaDriver.cuStreamCreateWithPriority(handle, flags, greatest[0]);
    if (result != 0) {
      throw CudaException.of(result, "cuStreamCreateWithPriority", flags, greatest[0]);
    }
    return new CudaStream(context, handle, handle.address());
  }

  /** The same, whose work keeps to some of the multiprocessors. */
  public static CudaStream open(CudaContext context, MultiprocessorShare share) {
    context.bind();
    long address = share.newStream();
    return new CudaStream(context, handleOf(address), address);
  }

  /** JCuda makes a stream of an address for itself alone. */
  private static CUstream handleOf(long address) {
    try {
      Constructor<CUstream> made = CUstream.class.getDeclaredConstructor(long.class);
      made.setAccessible(true);
      return made.newInstance(address);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("JCuda takes no stream of another's", e);
    }
  }

  /** The CUstream, for libraries that take one. */
  public long address() {
    return address;
  }

  public CudaContext context() {
    return context;
  }

  /** Lets what is enqueued from now on wait for a mark's last recording. */
  public void waitFor(CudaMark mark) {
    int result = JCudaDriver.cuStreamWaitEvent(handle, mark.handle(), 0);
    if (result != 0) {
      throw CudaException.of(result, "cuStreamWaitEvent", address(), mark.address(), 0);
    }
  }

  /** Sets a mark behind what is enqueued so far. */
  public void record(CudaMark mark) {
    int result = JCudaDriver.cuEventRecord(mark.handle(), handle);
    if (result != 0) {
      throw CudaException.of(result, "cuEventRecord", mark.address(), address());
    }
  }

  /**
   * Blocks the calling platform thread until everything enqueued is done.
   *
   * @throws CudaException also for what earlier work did wrong
   */
  public void synchronize() {
    int result = JCudaDriver.cuStreamSynchronize(handle);
    if (result != 0) {
      throw CudaException.of(result, "cuStreamSynchronize", address());
    }
  }

  /** Copies from host memory, which must stay until then; from unpinned memory it blocks. */
  public void copyToDevice(long device, long host, long bytes) {
    int result =
        JCudaDriver.cuMemcpyHtoDAsync(
            new DeviceAddress(device), new HostAddress(host), bytes, handle);
    if (result != 0) {
      throw CudaException.of(result, "cuMemcpyHtoDAsync", device, host, bytes, address());
    }
    context.carries(bytes);
  }

  /** Launches a kernel with its parameters. */
  void launch(CUfunction kernel, int blocks, int threads, Pointer parameters) {
    int result =
        JCudaDriver.cuLaunchKernel(
            kernel, blocks, 1, 1, threads, 1, 1, 0, handle, parameters, null);
    if (result != 0) {
      throw CudaException.of(result, "cuLaunchKernel", blocks, threads, address());
    }
  }

  /** Copies to host memory, which must stay until then; to unpinned memory it blocks. */
  public void copyToHost(long host, long device, long bytes) {
    int result =
        JCudaDriver.cuMemcpyDtoHAsync(
            new HostAddress(host), new DeviceAddress(device), bytes, handle);
    if (result != 0) {
      throw CudaException.of(result, "cuMemcpyDtoHAsync", host, device, bytes, address());
    }
    context.carries(bytes);
  }

  /** Copies from device memory to device memory. */
  public void copyWithin(long to, long from, long bytes) {
    int result =
        JCudaDriver.cuMemcpyDtoDAsync(
            new DeviceAddress(to), new DeviceAddress(from), bytes, handle);
    if (result != 0) {
      throw CudaException.of(result, "cuMemcpyDtoDAsync", to, from, bytes, address());
    }
  }

  /** Copies from another device, whose memory this one {@link CudaContext#canRead can read}. */
  public void copyFrom(CudaContext other, long to, long from, long bytes) {
    int result =
        JCudaDriver.cuMemcpyPeerAsync(
            new DeviceAddress(to),
            context.handle(),
            new DeviceAddress(from),
            other.handle(),
            bytes,
            handle);
    if (result != 0) {
      throw CudaException.of(result, "cuMemcpyPeerAsync", to, from, bytes, address());
    }
  }

  /** Writes a number to pinned or device memory, once everything enqueued before is done. */
  public void write(long address, int value) {
    int result =
        JCudaDriver.cuStreamWriteValue32(
            handle,
            new DeviceAddress(address),
            value,
            CUstreamWriteValue_flags.CU_STREAM_WRITE_VALUE_DEFAULT);
    if (result != 0) {
      throw CudaException.of(result, "cuStreamWriteValue32", this.address(), address, value, 0);
    }
  }

  /**
   * Lets what is enqueued from now on wait until a number in pinned memory is at least so large,
   * counting on past the largest integer. Who writes it is not the driver's business: it may be
   * another process.
   */
  public void waitForAtLeast(long address, int value) {
    int result =
        JCudaDriver.cuStreamWaitValue32(
            handle,
            new DeviceAddress(address),
            value,
            CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ);
    if (result != 0) {
      throw CudaException.of(result, "cuStreamWaitValue32", this.address(), address, value, 0);
    }
  }

  /** Sets every byte of a stretch of device memory. */
  public void fill(long device, byte value, long bytes) {
    int result = JCudaDriver.cuMemsetD8Async(new DeviceAddress(device), value, bytes, handle);
    if (result != 0) {
      throw CudaException.of(result, "cuMemsetD8Async", device, value & 0xff, bytes, address());
    }
  }

  /**
   * From now on what is enqueued here, by libraries too, goes into a graph and is not carried out.
   * The mode is relaxed: other threads, and this one on other streams, may do what they like.
   */
  public void beginCapture() {
    int mode = CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED;
    int result = JCudaDriver.cuStreamBeginCapture(handle, mode);
    if (result != 0) {
      throw CudaException.of(result, "cuStreamBeginCapture", address(), mode);
    }
  }

  /**
   * Ends the capture; the stream carries out again what it is given, whether this throws or not.
   *
   * @throws CudaException when something was done in between that cannot be captured
   */
  public CapturedGraph endCapture() {
    CapturedGraph.Handle graph = new CapturedGraph.Handle();
    int result = JCudaDriver.cuStreamEndCapture(handle, graph);
    if (result != 0) {
      throw CudaException.of(result, "cuStreamEndCapture", address());
    }
    return new CapturedGraph(context, graph);
  }

  /** Enqueues a graph's work. */
  public void launch(ExecutableGraph graph) {
    int result = JCudaDriver.cuGraphLaunch(graph.handle(), handle);
    if (result != 0) {
      throw CudaException.of(result, "cuGraphLaunch", graph.address(), address());
    }
  }

  /**
   * Whether the device has failed, and does no more of what is enqueued, or nobody wants it any
   * more, as the stream is closed. Not to be asked in a loop: that keeps other threads from
   * launching work.
   */
  public synchronized boolean hasFailed() {
    if (closed) {
      return true;
    }
    int result = JCudaDriver.cuStreamQuery(handle);
    return result != 0 && result != CUresult.CUDA_ERROR_NOT_READY;
  }

  /** Destroys the stream; work that is enqueued is still carried out. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      context.bind();
      int result = JCudaDriver.cuStreamDestroy(handle);
      if (result != 0) {
        throw CudaException.of(result, "cuStreamDestroy", address());
      }
    }
  }
}
