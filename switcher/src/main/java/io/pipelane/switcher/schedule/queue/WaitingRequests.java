package io.pipelane.switcher.schedule.queue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The requests that wait, in the policy's order and within its bounds, and what comes out of them
 * next, claimed for running. Guarded by the queue's lock, but where it says so.
 */
final class WaitingRequests {
  /*
   * A request that comes out is STARTED, so it is handed out once. One that was withdrawn before is
   * passed over. `again` holds requests that were out already and run once more: they count for no
   * bound, and go first, where their class may run.
   */
  private final SchedulingPolicy policy;
  private final QueueBounds bounds;
  private final RepeatedRequests again;
  private final QueueCounters counters;
  private @Nullable String standstill;

  /**
   * Nothing yet.
   *
   * @param counters told what finds no room
   */
  WaitingRequests(SchedulingPolicy policy, QueueBounds bounds, QueueCounters counters) {
    this.policy = policy;
    this.bounds = bounds;
    this.again = new RepeatedRequests(policy);
    this.counters = counters;
  }

  /**
   * Counts a request, which {@link #add} follows.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when there is no room, or nobody to run it,
   *     {@link Status#NOT_FOUND} for an offline one of a model that leaves
   */
  void admit(QueuedRequest request) {
    if (standstill != null) {
      throw StatusException.unavailable(standstill);
    }
    try {
      bounds.admit(request);
    } catch (StatusException e) {
      if (e.status() == Status.UNAVAILABLE) {
        counters.full();
      }
      throw e;
    }
  }

  /** Admits nothing, with a reason; null where it does again. */
  void standStill(@Nullable String reason) {
    standstill = reason;
  }

  /** Why nothing is admitted; null where something may be. */
  @Nullable String standstill() {
    return standstill;
  }

  /** Takes a request in that has been admitted. */
  void add(QueuedRequest request) {
    request.keepOrder();
    policy.add(request);
  }

  /** Takes in what was out already; see {@link RepeatedRequests#add}. */
  List<QueuedRequest> addAgain(Collection<QueuedRequest> claimed) {
    return again.add(claimed);
  }

  /** The first of those that were out already; null where none may run. */
  @Nullable QueuedRequest nextAgain(long nowNanos) {
    return again.take(nowNanos);
  }

  /** The first of all others; null where none may run. */
  @Nullable QueuedRequest next(long nowNanos) {
    @Nullable QueuedRequest next = policy.poll(nowNanos);
    while (next != null && !isClaimed(next, nowNanos)) {
      next = policy.poll(nowNanos);
    }
    return next;
  }

  /** The first offline request that is suitable for the share; null where none may run. */
  @Nullable QueuedRequest nextOffline(Predicate<QueuedRequest> suitable, long nowNanos) {
    @Nullable QueuedRequest failedBefore = again.takeForShare(suitable);
    if (failedBefore != null) {
      return failedBefore;
    }
    @Nullable QueuedRequest next = policy.pollOffline(suitable, nowNanos);
    while (next != null && !isClaimed(next, nowNanos)) {
      next = policy.pollOffline(suitable, nowNanos);
    }
    return next;
  }

  /** The request for which a run gives way; null where there is none. */
  @Nullable QueuedRequest nextBefore(QueuedRequest run, long remainingNanos, long nowNanos) {
    @Nullable QueuedRequest next = policy.interrupting(run, remainingNanos, nowNanos);
    while (next != null) {
      policy.take(next, nowNanos);
      if (isClaimed(next, nowNanos)) {
        return next;
      }
      next = policy.interrupting(run, remainingNanos, nowNanos);
    }
    return null;
  }

  private boolean isClaimed(QueuedRequest polled, long nowNanos) {
    boolean isClaimed = polled.start();
    if (isClaimed) {
      bounds.left(polled);
    } else {
      policy.ended(polled, nowNanos);
    }
    return isClaimed;
  }

  /** A request waits no longer. */
  void withdrawn(QueuedRequest request) {
    policy.remove(request);
    bounds.left(request);
  }

  /** One that was out already is not to run again; false when it is not here. */
  boolean drop(QueuedRequest claimed) {
    return again.drop(claimed);
  }

  /** The same of all that were out. */
  List<QueuedRequest> dropAgain() {
    return again.dropAll();
  }

  /** The same of all whose model leaves service. */
  List<QueuedRequest> dropLeaving() {
    return again.dropLeaving();
  }

  /** For any thread. */
  boolean isEmpty() {
    return bounds.isEmpty() && again.isEmpty();
  }
}
