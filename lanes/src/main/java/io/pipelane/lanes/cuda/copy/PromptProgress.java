package io.pipelane.lanes.cuda.copy;

import org.jspecify.annotations.Nullable;

/**
 * A stream's progress that tells of a failure at once where waiting has shown it before. Belongs to
 * whoever enqueues on the stream.
 */
public final class PromptProgress implements Progress {
  /*
   * What has failed is never done, nor is what was enqueued behind it. Nobody is told of that: it is
   * found by waiting for long. Of the copies of a model, hundreds may be queued then, each of which
   * would wait as long.
   */
  private final Progress progress;
  private int failedMark;
  private @Nullable RuntimeException failure;

  public PromptProgress(Progress progress) {
    this.progress = progress;
  }

  @Override
  public int mark() {
    return progress.mark();
  }

  /**
   * {@inheritDoc}
   *
   * @throws io.pipelane.lanes.cuda.driver.CudaException when it is not, and what came before has
   *     been found to have failed
   */
  @Override
  public boolean reached(int mark) {
    boolean isDone = progress.reached(mark);
    if (!isDone && failure != null && !progress.reached(failedMark)) {
      throw failure;
    }
    return isDone;
  }

  @Override
  public void require(int mark) {
    if (!reached(mark)) {
      try {
        progress.require(mark);
      } catch (RuntimeException e) {
        failedMark = mark;
        failure = e;
        throw e;
      }
    }
  }
}
