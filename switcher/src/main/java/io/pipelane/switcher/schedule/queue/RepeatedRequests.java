package io.pipelane.switcher.schedule.queue;

import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.jspecify.annotations.Nullable;

/**
 * Requests that were taken, and run again before all others of their class: their batch has failed,
 * or their lane was not for them. They count for no bound. Guarded by the queue's lock, but where
 * it says so.
 */
final class RepeatedRequests {
  private final SchedulingPolicy policy;
  private final Deque<QueuedRequest> requests = new ConcurrentLinkedDeque<>();

  /**
   * None yet.
   *
   * @param policy says which may run now
   */
  RepeatedRequests(SchedulingPolicy policy) {
    this.policy = policy;
  }

  /**
   * Takes requests in; not those that nobody wants any more, who has said so may have looked here
   * before.
   *
   * @return those that it has not taken, whose end nobody else tells
   */
  List<QueuedRequest> add(Collection<QueuedRequest> claimed) {
    List<QueuedRequest> unwanted = claimed.stream().filter(QueuedRequest::isUnwanted).toList();
    claimed.stream().filter(request -> !unwanted.contains(request)).forEach(requests::add);
    return unwanted;
  }

  /** Takes the first that may run. */
  @Nullable QueuedRequest take(long nowNanos) {
    for (QueuedRequest request : requests) {
      if (policy.takeAgain(request, nowNanos)) {
        requests.remove(request);
        return request;
      }
    }
    return null;
  }

  /** Takes one that nobody wants any more; false when it is not here. */
  boolean drop(QueuedRequest request) {
    boolean wasHere = requests.remove(request);
    if (wasHere) {
      policy.remove(request);
    }
    return wasHere;
  }

  /** Takes all. */
  List<QueuedRequest> dropAll() {
    return requests.stream().filter(this::drop).toList();
  }

  /** Takes those whose model leaves service. */
  List<QueuedRequest> dropLeaving() {
    return requests.stream().filter(QueuedRequest::isLeaving).filter(this::drop).toList();
  }

  /** For any thread. */
  boolean isEmpty() {
    return requests.isEmpty();
  }
}
