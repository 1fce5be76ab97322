package io.pipelane.lanes.cuda;

import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.HostReader;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.function.LongSupplier;

/** A GPU as sessions need it: the process's own, or a worker's share of another process's. */
public interface SessionDevice {
  /** The device's context, for work of one's own on it. */
  CudaContext context();

  /**
   * The stream that weights come in on, while some do. Inputs of requests are enqueued on it, by
   * any thread: they come behind the few copies in flight, and copies on another stream come no
   * sooner, as all pass one engine. Their users wait for a mark behind them.
   */
  Optional<CudaStream> busyCopyStream();

  /**
   * What brings inputs in where weights come in on another process's stream; empty where they do
   * not.
   */
  Optional<HostReader> hostReader();

  /**
   * Tells where what runs on a range reads in place, which is asked before each run: it changes
   * with the variant that is in the range.
   *
   * @param address where the range begins
   * @param byteSize what is read in place there
   */
  LongSupplier inPlace(long address, long byteSize);

  /** Whether some memory is of the device's {@link io.pipelane.lanes.DeviceStates}. */
  boolean isState(MemorySegment segment);

  /** Device memory that this object holds: pages, persistent memory, states and regions. */
  long deviceBytes();

  /** Device memory in use according to the driver, by this process and others. */
  long driverUsedBytes();

  /**
   * What the device has less since it was opened, beside pages, allocations and what regions are
   * limited to: memory of libraries, and what allocating leaves unused. Other processes' memory
   * looks the same.
   */
  long overheadBytes();

  /** Notes that the driver does no more for this process on the device. */
  void giveUp();

  /** Whether the device has been given up. */
  boolean isLost();
}
