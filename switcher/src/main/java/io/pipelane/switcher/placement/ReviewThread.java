package io.pipelane.switcher.placement;

import io.pipelane.lanes.completion.ThreadEnd;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** A thread that looks after models' devices now and then, also after a look that has failed. */
final class ReviewThread implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(ReviewThread.class.getName());

  private final Runnable review;
  private final long pauseNanos;
  private final Thread thread;
  private volatile boolean closed;
  private boolean hasFailed;

  /** Starts the thread. */
  ReviewThread(String name, Runnable review, Duration pause) {
    this.review = review;
    this.pauseNanos = pause.toNanos();
    this.thread = Thread.ofPlatform().name(name).daemon().start(this::work);
  }

  private void work() {
    while (!closed) {
      look();
      LockSupport.parkNanos(this, pauseNanos);
    }
  }

  /**
   * What a look lacks, such as memory, the next may have; there is no other thread to take them.
   */
  private void look() {
    try {
      review.run();
      hasFailed = false;
    } catch (Throwable e) {
      tell(e);
    }
  }

  /** Of failures in a row only the first is everybody's to know: there may be many a second. */
  private void tell(Throwable failure) {
    Level level = hasFailed ? Level.DEBUG : Level.ERROR;
    hasFailed = true;
    try {
      LOG.log(level, "a look of " + Thread.currentThread().getName() + " has failed", failure);
    } catch (Throwable e) { // There may be no memory for that either.
      failure.addSuppressed(e);
    }
  }

  /** Ends the thread after the look under way. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
    ThreadEnd.await(thread);
  }
}
