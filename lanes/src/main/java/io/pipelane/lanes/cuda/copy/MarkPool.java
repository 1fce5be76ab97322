package io.pipelane.lanes.cuda.copy;

import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaMark;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Marks that are used again. Safe for any thread. */
public final class MarkPool implements AutoCloseable {
  private final CudaContext context;
  private final Queue<CudaMark> free = new ConcurrentLinkedQueue<>();

  public MarkPool(CudaContext context) {
    this.context = context;
  }

  public CudaMark take() {
    CudaMark mark = free.poll();
    return mark == null ? CudaMark.untimed(context) : mark;
  }

  public void giveBack(CudaMark mark) {
    free.add(mark);
  }

  /** Destroys the marks that are here. */
  @Override
  public void close() {
    context.bind();
    for (CudaMark mark = free.poll(); mark != null; mark = free.poll()) {
      mark.close();
    }
  }
}
