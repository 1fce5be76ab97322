package io.pipelane.switcher.schedule.queue;

import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The order in which queued requests run. Not safe for several threads: the queue guards it. */
public interface SchedulingPolicy {
  void add(QueuedRequest request);

  /**
   * Takes the request that runs next; null when there is none, or none that may run before another
   * has ended.
   */
  @Nullable QueuedRequest poll(long nowNanos);

  /**
   * Takes the next offline request of some, whatever else waits or may run; null when there is
   * none.
   */
  default @Nullable QueuedRequest pollOffline(Predicate<QueuedRequest> suitable, long nowNanos) {
    return null;
  }

  /** Forgets a request that was withdrawn; it may have been polled already. */
  void remove(QueuedRequest request);

  /** The first {@code count} requests or fewer, about in the order in which they would run now. */
  List<QueuedRequest> first(int count, long nowNanos);

  /**
   * Requests of the same key and class as another that wait, the oldest first, at most {@code
   * count}.
   */
  List<QueuedRequest> alike(QueuedRequest request, int count);

  /** What goes before a request that comes now and has not been added. */
  WorkAhead ahead(QueuedRequest request, long nowNanos);

  /** Takes a request that {@link #interrupting} has named. */
  default void take(QueuedRequest request, long nowNanos) {
    remove(request);
  }

  /**
   * Takes a request that was taken before, and failed with others, ahead of those in line; false
   * where it may not run now.
   */
  default boolean takeAgain(QueuedRequest request, long nowNanos) {
    return true;
  }

  /** Whether {@link #ended} has to be called. */
  default boolean heedsEnds() {
    return false;
  }

  /** A request that was taken has ended, or was not run; for others nothing happens. */
  default void ended(QueuedRequest request, long nowNanos) {}

  /** Whether runs may have to give way to requests: {@link #interrupting} may name one. */
  default boolean interrupts() {
    return false;
  }

  /**
   * The request for which a run gives way at its next gate, if there is one; it stays in line. Most
   * policies let every run come to its end.
   *
   * @param run a request that has begun to run
   * @param remainingNanos what it is thought to need until its end
   */
  default @Nullable QueuedRequest interrupting(
      QueuedRequest run, long remainingNanos, long nowNanos) {
    return null;
  }

  /**
   * Whether an online run had better end, and begin anew, for an online request that has been taken
   * and waits for the memory of its weights. Most policies let every run come to its end.
   *
   * @param run a request that has begun to run
   * @param remainingNanos what it still needs
   * @param hadNanos what it has had, and would lose
   */
  default boolean makesWay(
      QueuedRequest run, long remainingNanos, long hadNanos, QueuedRequest first, long nowNanos) {
    return false;
  }
}
