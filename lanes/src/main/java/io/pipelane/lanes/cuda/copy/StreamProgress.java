package io.pipelane.lanes.cuda.copy;

import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.lanes.cuda.driver.PinnedHostMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * A stream's progress, in memory that the processor reads without asking the driver: whoever asks
 * the driver again and again keeps others from launching graphs meanwhile. Numbering belongs to
 * whoever enqueues on the stream, looking is for any thread.
 */
public final class StreamProgress implements Progress, AutoCloseable {
  private static final VarHandle COUNTER = ValueLayout.JAVA_INT.varHandle();
  private static final int SPINS = 16;
  private static final long LONGEST_SPIN_NANOS = 1_000_000_000;

  private final CudaStream stream;
  private final PinnedHostMemory memory;
  private final MemorySegment counter;
  private int enqueued;

  public StreamProgress(CudaStream stream) {
    this.stream = stream;
    this.memory = PinnedHostMemory.allocate(stream.context(), ValueLayout.JAVA_INT.byteSize());
    this.counter = memory.segment();
    COUNTER.setVolatile(counter, 0L, 0);
  }

  /** Numbers what has been enqueued so far; the number is for {@link #reached}. */
  @Override
  public int mark() {
    enqueued++;
    stream.write(memory.address(), enqueued);
    return enqueued;
  }

  /** Whether what had been enqueued before a mark is done. Work that failed is never done. */
  @Override
  public boolean reached(int mark) {
    return (int) COUNTER.getVolatile(counter, 0L) - mark >= 0;
  }

  /**
   * Waits on the processor.
   *
   * @return false when that has taken too long
   */
  public boolean await(int mark, long limitNanos) {
    long begin = System.nanoTime();
    while (!reached(mark)) {
      if (System.nanoTime() - begin > limitNanos) {
        return false;
      }
      for (int i = 0; i < SPINS; i++) {
        Thread.onSpinWait();
      }
    }
    return true;
  }

  /**
   * Waits until what had been enqueued before a mark is done, on the processor at first and in the
   * driver when that takes long.
   *
   * @throws io.pipelane.lanes.cuda.driver.CudaException when it has failed
   */
  @Override
  public void require(int mark) {
    if (!await(mark, LONGEST_SPIN_NANOS)) {
      stream.synchronize();
    }
  }

  @Override
  public void close() {
    memory.close();
  }
}
