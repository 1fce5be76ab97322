package io.pipelane.lanes.cuda;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A queue from any thread to one, which looks out for more before it sleeps. */
final class HandOver<T> {
  /*
   * The taker announces its sleep and then looks once more; a giver adds and then looks for a
   * sleeper. Both are volatile accesses, so one of them sees the other.
   */

  private final long spinNanos;
  private final Queue<T> queue = new ConcurrentLinkedQueue<>();
  private volatile @Nullable Thread sleeper;

  /**
   * Makes an empty queue.
   *
   * @param spinNanos how long the taker looks out before it sleeps
   */
  HandOver(long spinNanos) {
    this.spinNanos = spinNanos;
  }

  void give(T item) {
    queue.add(item);
    Thread asleep = sleeper;
    if (asleep != null) {
      LockSupport.unpark(asleep);
    }
  }

  /** What has waited longest, waiting for it; for the taking thread, which nobody can interrupt. */
  T take() {
    while (true) {
      T item = lookOut();
      if (item != null) {
        return item;
      }
      sleeper = Thread.currentThread();
      while (queue.isEmpty()) {
        LockSupport.park(this);
        // Nobody has a reason to interrupt this thread; with the mark left on it would not sleep.
        boolean _ = Thread.interrupted();
      }
      sleeper = null;
    }
  }

  /** What has waited longest, or null where nothing waits; for the taking thread. */
  @Nullable T poll() {
    return queue.poll();
  }

  /** What has waited longest, or null when nothing comes for a while; for the taking thread. */
  @Nullable T lookOut() {
    long begin = System.nanoTime();
    T item = queue.poll();
    while (item == null && System.nanoTime() - begin < spinNanos) {
      Thread.onSpinWait();
      item = queue.poll();
    }
    return item;
  }
}
