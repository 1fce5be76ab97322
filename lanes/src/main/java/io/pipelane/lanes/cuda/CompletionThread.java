package io.pipelane.lanes.cuda;

import io.pipelane.lanes.cuda.driver.CudaContext;
import io.pipelane.lanes.cuda.driver.CudaMark;
import org.jspecify.annotations.Nullable;

/** The work of the thread that waits for copies, one after another, and completes their events. */
final class CompletionThread implements Runnable {
  /**
   * A copy that is on the device's queue, or has failed.
   *
   * @param copy null for the end of all copies
   * @param mark what is behind everything of the copy that is on its way
   */
  record Issued(
      Command.@Nullable Copy copy, @Nullable CudaMark mark, @Nullable Throwable failure) {}

  private final CudaContext context;
  private final MarkPool marks;
  private final HandOver<Issued> issued;

  CompletionThread(CudaContext context, MarkPool marks, HandOver<Issued> issued) {
    this.context = context;
    this.marks = marks;
    this.issued = issued;
  }

  @Override
  public void run() {
    context.bind();
    Issued next = issued.take();
    while (next.copy != null) {
      complete(next.copy, next.mark, next.failure);
      next = issued.take();
    }
  }

  private void complete(Command.Copy copy, @Nullable CudaMark mark, @Nullable Throwable failure) {
    Throwable reason = failure;
    if (mark != null) {
      try {
        mark.await();
      } catch (RuntimeException e) {
        reason = reason == null ? e : reason;
      }
    }
    copy.range().unpin(copy.rangeOffset(), copy.bytes());
    copy.event().complete(reason);
    if (mark != null) {
      marks.giveBack(mark);
    }
  }
}
