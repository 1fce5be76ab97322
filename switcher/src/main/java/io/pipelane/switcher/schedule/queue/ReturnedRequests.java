package io.pipelane.switcher.schedule.queue;

import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Requests that were taken from the queue for a run and come back without an answer: they run again
 * before all others of their class, each alone. Safe for any thread.
 */
public final class ReturnedRequests {
  /*
   * Each is in one place: with its taker, among those that run again, or at its end. Who comes back
   * and is wanted by nobody, or finds that nobody runs anything, ends here; its handler is told
   * without the queue's lock.
   */
  private final ReentrantLock lock;
  private final WaitingRequests inLine;
  private final Takers takers;
  private final QueueCounters counters;
  private final Consumer<String> refuseAll;
  private volatile BooleanSupplier repeatsWhile = () -> true;

  /**
   * None yet.
   *
   * @param lock the queue's
   * @param refuseAll refuses all that waits, with a reason; called without the lock
   */
  ReturnedRequests(
      ReentrantLock lock,
      WaitingRequests inLine,
      Takers takers,
      QueueCounters counters,
      Consumer<String> refuseAll) {
    this.lock = lock;
    this.inLine = inLine;
    this.takers = takers;
    this.counters = counters;
    this.refuseAll = refuseAll;
  }

  /** Says how long it is worth running requests again that failed as a batch. */
  void repeatWhile(BooleanSupplier useful) {
    repeatsWhile = useful;
  }

  /**
   * What has been taken, and has not run, runs elsewhere before all others of its class; where
   * nobody wants that any more it ends.
   */
  public void giveBack(QueuedRequest claimed) {
    runAgain(List.of(claimed));
  }

  /**
   * Requests that failed as a batch run before all others, each alone; those that nobody wants any
   * more end.
   *
   * @return false when that is in vain; the caller tells them the end
   */
  boolean again(List<QueuedRequest> claimed) {
    if (!repeatsWhile.getAsBoolean()) {
      return false;
    }
    repeat(claimed);
    return true;
  }

  /** The same of some that were to be a batch for which there is no memory. */
  void repeat(List<QueuedRequest> claimed) {
    counters.batchFailed();
    runAgain(claimed);
  }

  private void runAgain(List<QueuedRequest> claimed) {
    List<QueuedRequest> unwanted;
    @Nullable String nobodyRuns;
    lock.lock();
    try {
      unwanted = inLine.addAgain(claimed);
      nobodyRuns = inLine.standstill();
      takers.lookAgain();
    } finally {
      lock.unlock();
    }
    endUnwanted(unwanted);
    if (nobodyRuns != null) {
      refuseAll.accept(nobodyRuns);
    }
  }

  /** A request that was to run again does not; false for one that runs. */
  boolean runsNoMore(QueuedRequest claimed) {
    boolean waited;
    lock.lock();
    try {
      waited = inLine.drop(claimed);
      if (waited) {
        takers.lookAgain(); // It may have been what others waited for.
      }
    } finally {
      lock.unlock();
    }
    return waited;
  }

  /** Tells requests their end that are to run no more; without the queue's lock. */
  static void endUnwanted(List<QueuedRequest> requests) {
    requests.forEach(request -> Lateness.tell(request, request::endUnwanted));
  }
}
