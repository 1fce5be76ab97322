package io.pipelane.lanes.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import java.lang.invoke.VarHandle;

/**
 * The count of copies of weights that have ended, in memory that every process has pinned. The copy
 * stream counts by itself, and streams of other processes wait for a number by themselves.
 */
public final class ArrivalCount implements AutoCloseable {
  private static final VarHandle COUNT = JAVA_INT.varHandle();
  private static final long BYTES = 4096;

  private final SharedMemory memory;
  private final PinnedHostMemory pinned;

  private ArrivalCount(CudaContext context, SharedMemory memory) {
    this.memory = memory;
    try {
      this.pinned = PinnedHostMemory.register(context, memory.segment());
    } catch (RuntimeException e) {
      memory.close();
      throw e;
    }
  }

  /** A count that begins with 0. */
  public static ArrivalCount create(CudaContext context) {
    return new ArrivalCount(context, SharedMemory.allocate("pipelane-arrivals", BYTES));
  }

  /** Another process's. */
  public static ArrivalCount open(CudaContext context, long process, int descriptor) {
    return new ArrivalCount(context, SharedMemory.open(process, descriptor, BYTES));
  }

  public int descriptor() {
    return memory.descriptor();
  }

  /** Sets the count once everything enqueued on a stream before is done. */
  void set(CudaStream stream, int number) {
    stream.write(pinned.address(), number);
  }

  /** Lets the stream wait until the count has come to a number. */
  public void await(CudaStream stream, int number) {
    stream.waitForAtLeast(pinned.address(), number);
  }

  public boolean hasReached(int number) {
    return (int) COUNT.getVolatile(memory.segment(), 0L) - number >= 0;
  }

  @Override
  public void close() {
    pinned.close();
    memory.close();
  }
}
