package io.pipelane.lanes.cuda.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.LongAdder;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUpointer_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/**
 * The primary context of one device, which CUDA's runtime (and so ONNX Runtime) uses too. Safe for
 * any thread; the methods that ask the device bind it themselves.
 */
public final class CudaContext implements AutoCloseable {
  private final DriverFunctions functions;
  private final PinnedRanges pinned;
  private final int index;
  private final CUdevice device;
  private final CUcontext context;
  private final String deviceName;
  private final long totalBytes;
  private final int multiprocessors;
  private final boolean readsPinnedMemory;
  private final LongAdder linkBytes = new LongAdder();
  private final ContextsAtExit.Held held = new AtExit();
  private boolean closed;

  private CudaContext(CudaDriver driver, int index, CUdevice device) {
    this.functions = driver.functions();
    this.pinned = driver.pinned();
    this.index = index;
    this.device = device;
    byte[] name = new byte[256];
    check(JCudaDriver.cuDeviceGetName(name, name.length, device), "cuDeviceGetName");
    int length = 0;
    while (length < name.length && name[length] != 0) {
      length++;
    }
    this.deviceName = new String(name, 0, length, StandardCharsets.UTF_8);
    this.multiprocessors =
        attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    this.readsPinnedMemory =
        attribute(
                CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
                device)
            != 0;
    long[] total = new long[1];
    check(JCudaDriver.cuDeviceTotalMem(total, device), "cuDeviceTotalMem");
    this.totalBytes = total[0];
    this.context = new CUcontext();
    check(JCudaDriver.cuDevicePrimaryCtxRetain(context, device), "cuDevicePrimaryCtxRetain");
    ContextsAtExit.ofProcess().opened(held);
  }

  /** The context as the end of the process has it. */
  private final class AtExit implements ContextsAtExit.Held {
    @Override
    public void finish() {
      makeCurrent();
      check(JCudaDriver.cuCtxSynchronize(), "cuCtxSynchronize");
    }

    @Override
    public void release() {
      destroy();
    }
  }

  /**
   * Retains a device's primary context, creating it where nobody has yet (some 500 MB of device
   * memory).
   *
   * @throws IllegalArgumentException when the driver has no such device
   */
  public static CudaContext open(CudaDriver driver, int index) {
    if (index < 0 || index >= driver.deviceCount()) {
      throw new IllegalArgumentException(
          "there is no device cuda:%d; there are %d, counted from 0"
              .formatted(index, driver.deviceCount()));
    }
    CUdevice device = new CUdevice();
    int result = JCudaDriver.cuDeviceGet(device, index);
    if (result != 0) {
      throw CudaException.of(result, "cuDeviceGet", index);
    }
    return new CudaContext(driver, index, device);
  }

  /**
   * Makes the context current on the calling thread, which most calls need; about 0.1 µs.
   *
   * @throws io.pipelane.config.StatusException when the process is about to end, and gives the
   *     context back
   */
  public void bind() {
    ContextsAtExit.ofProcess().requireGoesOn();
    makeCurrent();
  }

  private void makeCurrent() {
    int result = JCudaDriver.cuCtxSetCurrent(context);
    if (result != 0) {
      throw CudaException.of(result, "cuCtxSetCurrent", index);
    }
  }

  public int index() {
    return index;
  }

  /** The manufacturer's name of the device, e.g. {@code NVIDIA H200}. */
  public String deviceName() {
    return deviceName;
  }

  public int multiprocessors() {
    return multiprocessors;
  }

  /** Whether kernels read pinned memory at the addresses that it has in the process. */
  public boolean readsPinnedMemory() {
    return readsPinnedMemory;
  }

  /** All of the device's memory. */
  public long totalBytes() {
    return totalBytes;
  }

  /** Device memory that nobody uses, of this process or another. */
  public long freeBytes() {
    return memoryInfo(true);
  }

  /** Device memory that is in use, by this process or another. */
  public long usedBytes() {
    return memoryInfo(false);
  }

  private long memoryInfo(boolean ofFree) {
    bind();
    long[] free = new long[1];
    long[] total = new long[1];
    check(JCudaDriver.cuMemGetInfo(free, total), "cuMemGetInfo");
    return ofFree ? free[0] : total[0] - free[0];
  }

  /**
   * Whether all of some memory is pinned (page-locked and known to CUDA) as a {@link
   * PinnedHostMemory} of any context of the same driver object; the driver is not asked.
   */
  public boolean isPinned(MemorySegment memory) {
    return pinned.contains(memory);
  }

  /** Whether this device can read another's memory without the host. */
  public boolean canRead(CudaContext other) {
    int[] answer = new int[1];
    check(JCudaDriver.cuDeviceCanAccessPeer(answer, device, other.device), "cuDeviceCanAccessPeer");
    return answer[0] != 0;
  }

  /** Lets this device read another's memory, for as long as both contexts live. */
  public void allowReading(CudaContext other) {
    bind();
    int result = JCudaDriver.cuCtxEnablePeerAccess(other.context, 0);
    if (result != CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
      check(result, "cuCtxEnablePeerAccess");
    }
  }

  /**
   * Whether the device does the least for this process, which is to do nothing on a new stream. It
   * does not after an error that stays, nor when it is gone. Blocks a platform thread.
   */
  public boolean answers() {
    try (CudaStream stream = CudaStream.open(this)) {
      stream.synchronize();
      return true;
    } catch (CudaException e) {
      return e.errorName().equals("CUDA_ERROR_OUT_OF_MEMORY");
    }
  }

  /** Bytes that streams have been given to carry between the host and the device. */
  public long linkBytes() {
    return linkBytes.sum();
  }

  void carries(long bytes) {
    linkBytes.add(bytes);
  }

  CUcontext handle() {
    return context;
  }

  /** CUDA's memory type of an address; 0 for memory that CUDA does not know. */
  int memoryType(long address) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment type = arena.allocate(ValueLayout.JAVA_INT);
      int attribute = CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
      int result = functions.pointerAttribute.result(type.address(), attribute, address, 0, 0, 0);
      return result == 0 ? type.get(ValueLayout.JAVA_INT, 0) : 0;
    }
  }

  DriverFunctions functions() {
    return functions;
  }

  PinnedRanges pinned() {
    return pinned;
  }

  /** Gives the context back; with the last user of it everything in it goes. */
  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      ContextsAtExit.ofProcess().closed(held);
      check(JCudaDriver.cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
    }
  }

  /** Takes the context from all its users in this process, before its end. */
  public synchronized void destroy() {
    closed = true;
    ContextsAtExit.ofProcess().closed(held);
    check(JCudaDriver.cuDevicePrimaryCtxReset(device), "cuDevicePrimaryCtxReset");
  }

  private int attribute(int attribute, CUdevice of) {
    int[] value = new int[1];
    check(JCudaDriver.cuDeviceGetAttribute(value, attribute, of), "cuDeviceGetAttribute");
    return value[0];
  }

  private void check(int result, String function) {
    if (result != 0) {
      throw CudaException.of(result, function, index);
    }
  }
}
