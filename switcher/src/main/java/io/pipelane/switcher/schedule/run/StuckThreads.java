package io.pipelane.switcher.schedule.run;

import io.pipelane.config.StatusException;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Lanes' threads whose runs have lost their worker processes, which have been killed and do not
 * end. Where all threads are, the queue stands still: what waits is refused, as is what comes. Safe
 * for any thread.
 */
final class StuckThreads {
  /*
   * Nobody knows how long such a process stays, so nobody is kept waiting for what it holds:
   * neither for a thread, nor for room that other weights have given to its run. One run after
   * another has that room, in the order of their coming.
   *
   * Lock order: this one, then the queue's. Callers are told without either.
   */
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final int threads;
  private final RequestQueue queue;

  /** Whose runs have others' weights give way, the first one now. */
  private final Deque<Thread> roomTakers = new ArrayDeque<>();

  private boolean roomIsStuck;
  private int stuck;
  private volatile boolean areAll; // Written under the lock; asked for each request.

  /** Of so many threads, none is. */
  StuckThreads(int threads, RequestQueue queue) {
    this.threads = threads;
    this.queue = queue;
  }

  /** The calling thread's run is, until {@link #goesOn}; its caller has been told why. */
  void count(StatusException reason) {
    String refusal = "no lane is left for it: " + reason.getMessage();
    boolean all;
    lock.lock();
    try {
      all = ++stuck == threads;
      areAll = all;
      if (all) {
        queue.standStill(refusal);
      }
      if (Thread.currentThread().equals(roomTakers.peekFirst())) {
        roomIsStuck = true;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
    if (all) {
      queue.refuseAll(refusal);
    }
  }

  /** The process of the calling thread's run is gone. */
  void goesOn() {
    lock.lock();
    try {
      if (stuck-- == threads) {
        areAll = false;
        queue.standStill(null);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Whether all are; at once. */
  boolean areAll() {
    return areAll;
  }

  /**
   * Waits until the calling thread's run alone may have others' weights give way, until {@link
   * #leaveRoom}.
   *
   * @param refusal why it needs that
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} where the run before it
   *     is stuck
   */
  void awaitRoom(StatusException refusal) {
    Thread caller = Thread.currentThread();
    lock.lock();
    try {
      roomTakers.addLast(caller);
      while (!caller.equals(roomTakers.peekFirst()) && !roomIsStuck) {
        changed.awaitUninterruptibly();
      }
      if (!caller.equals(roomTakers.peekFirst())) {
        roomTakers.remove(caller);
        throw StatusException.unavailable(
            "a run whose worker process does not end holds memory that this one needs beside it: "
                + refusal.getMessage(),
            refusal);
      }
    } finally {
      lock.unlock();
    }
  }

  /** The next may. */
  void leaveRoom() {
    lock.lock();
    try {
      roomTakers.remove(Thread.currentThread());
      roomIsStuck = false;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
