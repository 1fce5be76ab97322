package io.pipelane.switcher.placement;

import io.pipelane.lanes.completion.ThreadEnd;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** A thread that looks after models' devices now and then. */
final class ReviewThread implements AutoCloseable {
  private final Runnable review;
  private final long pauseNanos;
  private final Thread thread;
  private volatile boolean closed;

  /** Starts the thread. */
  ReviewThread(String name, Runnable review, Duration pause) {
    this.review = review;
    this.pauseNanos = pause.toNanos();
    this.thread = Thread.ofPlatform().name(name).daemon().start(this::work);
  }

  private void work() {
    while (!closed) {
      review.run();
      LockSupport.parkNanos(this, pauseNanos);
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
