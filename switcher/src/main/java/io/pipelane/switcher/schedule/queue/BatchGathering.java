package io.pipelane.switcher.schedule.queue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * The search for requests that run together with one whose turn it is. Guarded by the queue's lock,
 * which is free while a thread waits here.
 */
final class BatchGathering {
  /*
   * A request that came while its lane had nothing to do is never held for others. Only those are
   * held that a lane finds when it has ended a run, while no other lane is idle and nobody waits
   * who could not run with them, and for as long as all can still be in time. Any thread that would
   * idle wakes the one that holds.
   *
   * Whoever sends one request after another sends the next once it has the answer. That may come
   * before the lane is back here, which has nothing to do all the same. So one that came behind the
   * last answer, and finds nobody in its line, is not held either.
   */
  private final Condition more;
  private final SchedulingPolicy policy;
  private final QueueBounds bounds;
  private final BatchSizing sizing;
  private final LongSupplier nanoClock;
  private volatile long answeredNanos; // When a lane last did, by the same clock.
  private int holding;

  /**
   * For one queue.
   *
   * @param more of the queue's lock
   */
  BatchGathering(
      Condition more,
      SchedulingPolicy policy,
      QueueBounds bounds,
      BatchSizing sizing,
      LongSupplier nanoClock) {
    this.more = more;
    this.policy = policy;
    this.bounds = bounds;
    this.sizing = sizing;
    this.nanoClock = nanoClock;
    this.answeredNanos = nanoClock.getAsLong();
  }

  /** A lane is about to answer what it ran; for any thread, with no lock held. */
  void answers() {
    answeredNanos = nanoClock.getAsLong();
  }

  /** More requests wait, or a thread is idle: whoever waits here looks again. */
  void wake() {
    if (holding > 0) {
      more.signalAll();
    }
  }

  /**
   * A request and those that run with it, all claimed.
   *
   * @param first taken out of its line
   * @param comesFromRun whether the calling thread has ended a run just now
   * @param mayHold whether others may be waited for, then
   */
  List<QueuedRequest> with(QueuedRequest first, boolean comesFromRun, BooleanSupplier mayHold) {
    BatchRules rules = first.line().batching();
    boolean isLone = first.submittedNanos() - answeredNanos >= 0 && first.line().requests() == 0;
    boolean holds = comesFromRun && rules.maxDelayNanos() > 0 && !isLone;
    if (!rules.any() || first.runsAlone() || (first.line().requests() == 0 && !holds)) {
      return List.of(first);
    }
    List<QueuedRequest> members = new ArrayList<>(List.of(first));
    int most = 2 * rules.sizes().getLast();
    gather(members, most);
    if (holds) {
      hold(members, most, first.submittedNanos() + rules.maxDelayNanos(), mayHold);
    }
    return members;
  }

  /** Adds those that wait and are worth running with the others; looks at so many at most. */
  private void gather(List<QueuedRequest> members, int most) {
    QueuedRequest first = members.getFirst();
    if (first.line().requests() == 0) {
      return;
    }
    List<QueuedRequest> alike = new ArrayList<>(members.subList(1, members.size()));
    alike.addAll(policy.alike(first, most));
    int count = sizing.choose(first, alike, nanoClock.getAsLong());
    for (int i = members.size() - 1; i < alike.size() && members.size() < count; i++) {
      QueuedRequest other = alike.get(i);
      if (other.start()) {
        policy.remove(other);
        bounds.left(other);
        other.joins(first);
        members.add(other);
      }
    }
  }

  /** Waits for more, while nothing is lost by that. */
  private void hold(
      List<QueuedRequest> members, int most, long untilNanos, BooleanSupplier mayHold) {
    QueuedRequest first = members.getFirst();
    int target = sizing.target(first, nanoClock.getAsLong());
    List<QueuedRequest> behind = policy.alike(first, most);
    long left = leftNanos(members, behind, untilNanos);
    while (members.size() < target
        && left > 0
        && mayHold.getAsBoolean()
        && bounds.requests() == behind.size()) {
      holding++;
      try {
        more.awaitNanos(left);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      } finally {
        holding--;
      }
      gather(members, most);
      behind = policy.alike(first, most);
      left = leftNanos(members, behind, untilNanos);
    }
  }

  private long leftNanos(List<QueuedRequest> members, List<QueuedRequest> behind, long untilNanos) {
    return Math.min(untilNanos, sizing.latestStartNanos(members, behind)) - nanoClock.getAsLong();
  }
}
