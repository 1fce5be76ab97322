package io.pipelane.switcher.schedule.queue;

import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The policy's word on what goes before a run that has begun: requests in line, which are taken for
 * that here, and other runs. Safe for any thread.
 */
public final class RequestsBeforeRuns {
  private final ReentrantLock lock;
  private final SchedulingPolicy policy;
  private final WaitingRequests inLine;
  private final Lateness lateness;
  private final Consumer<QueuedRequest> ended;
  private final LongSupplier nanoClock;

  /**
   * Of one queue.
   *
   * @param lock the queue's
   * @param ended told of what was taken and refused; called without the lock
   */
  RequestsBeforeRuns(
      ReentrantLock lock,
      SchedulingPolicy policy,
      WaitingRequests inLine,
      Lateness lateness,
      Consumer<QueuedRequest> ended,
      LongSupplier nanoClock) {
    this.lock = lock;
    this.policy = policy;
    this.inLine = inLine;
    this.lateness = lateness;
    this.ended = ended;
    this.nanoClock = nanoClock;
  }

  /**
   * The request for which a run gives way, if there is one; it stays in line.
   *
   * @param remainingNanos what the run still needs
   */
  public @Nullable QueuedRequest first(QueuedRequest run, long remainingNanos) {
    lock.lock();
    try {
      return policy.interrupting(run, remainingNanos, nanoClock.getAsLong());
    } finally {
      lock.unlock();
    }
  }

  /** Takes it, claimed for running; null when there is none. */
  public @Nullable QueuedRequest take(QueuedRequest run, long remainingNanos) {
    while (true) {
      @Nullable QueuedRequest next = claim(run, remainingNanos);
      if (next == null || !lateness.refuse(next, nanoClock.getAsLong())) {
        return next;
      }
      ended.accept(next);
    }
  }

  private @Nullable QueuedRequest claim(QueuedRequest run, long remainingNanos) {
    lock.lock();
    try {
      long now = nanoClock.getAsLong();
      @Nullable QueuedRequest failedBefore = inLine.nextAgain(now);
      return failedBefore == null ? inLine.nextBefore(run, remainingNanos, now) : failedBefore;
    } finally {
      lock.unlock();
    }
  }

  /** See {@link SchedulingPolicy#goesBeforeRun}. */
  public boolean goesBeforeRun(
      QueuedRequest waiting, long waitingNanos, QueuedRequest run, long remainingNanos) {
    lock.lock();
    try {
      return policy.goesBeforeRun(
          waiting, waitingNanos, run, remainingNanos, nanoClock.getAsLong());
    } finally {
      lock.unlock();
    }
  }

  /** See {@link SchedulingPolicy#makesWay}. */
  public boolean makesWay(
      QueuedRequest run, long remainingNanos, long hadNanos, QueuedRequest first) {
    lock.lock();
    try {
      return policy.makesWay(run, remainingNanos, hadNanos, first, nanoClock.getAsLong());
    } finally {
      lock.unlock();
    }
  }
}
