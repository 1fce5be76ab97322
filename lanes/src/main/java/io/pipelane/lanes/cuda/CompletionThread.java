package io.pipelane.lanes.cuda;

import io.pipelane.lanes.cuda.copy.MarkPool;
import io.pipelane.lanes.cuda.copy.StreamProgress;
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
   * @param passed the same in the progress of the mark's stream
   */
  record Issued(
      Command.@Nullable Copy copy,
      @Nullable CudaMark mark,
      StreamProgress progress,
      int passed,
      @Nullable Throwable failure) {}

  /** An interrupt of the device comes some hundred microseconds late: too late for most copies. */
  private static final long SPIN_NANOS = 2_000_000;

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
      complete(next.copy, next);
      next = issued.take();
    }
  }

  private void complete(Command.Copy copy, Issued next) {
    Throwable reason = next.failure;
    CudaMark mark = next.mark;
    if (mark != null) {
      try {
        if (reason != null || !next.progress.await(next.passed, SPIN_NANOS)) {
          mark.await();
        }
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
