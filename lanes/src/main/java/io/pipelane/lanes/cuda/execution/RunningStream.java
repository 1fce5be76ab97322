package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.driver.CudaStream;
import io.pipelane.runtime.TensorMemory;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The stream of the run that a thread is in; copies inside device memory go there. */
final class RunningStream implements TensorMemory.Copier {
  private static final ThreadLocal<@Nullable CudaStream> CURRENT = new ThreadLocal<>();

  /** Runs something on this thread, its copies enqueued on a stream. */
  <T> T on(CudaStream stream, Supplier<T> work) {
    @Nullable CudaStream outer = CURRENT.get();
    CURRENT.set(stream);
    try {
      return work.get();
    } finally {
      CURRENT.set(outer);
    }
  }

  @Override
  public void copy(long from, long to, long bytes) {
    @Nullable CudaStream stream = CURRENT.get();
    if (stream == null) {
      throw new IllegalStateException("no run is under way on this thread");
    }
    stream.copyWithin(to, from, bytes);
  }
}
