package io.pipelane.switcher.schedule.policy;

import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.Requests;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * A policy at work on some lanes, in time that a test makes pass: requests come at random, run for
 * half as long to twice as long as is known of them, and end.
 */
final class PolicyRun {
  final SchedulingPolicy policy;
  final Requests requests;
  final List<QueuedRequest> waiting = new ArrayList<>();
  long now;
  private final int lanes;
  private final Random random;
  private final List<Running> running = new ArrayList<>();

  private record Running(QueuedRequest request, long beginNanos, long endNanos) {}

  /** What a test wants to know of every start. */
  interface Watcher {
    /** A request begins while others go on waiting. */
    void started(QueuedRequest started, List<QueuedRequest> waiting, long nowNanos);

    /** A run has taken so long. */
    default void ended(QueuedRequest ended, long nanos) {}
  }

  PolicyRun(SchedulingPolicy policy, Requests requests, int lanes, Random random) {
    this.policy = policy;
    this.requests = requests;
    this.lanes = lanes;
    this.random = random;
  }

  QueuedRequest arrive(QueuedRequest request) {
    policy.add(request);
    waiting.add(request);
    return request;
  }

  /** Sometimes a client goes away. */
  void withdrawOne(Random random) {
    if (!waiting.isEmpty()) {
      policy.remove(waiting.remove(random.nextInt(waiting.size())));
    }
  }

  /** Gives every free lane something to do. */
  void start(Watcher watcher) {
    while (running.size() < lanes) {
      @Nullable QueuedRequest next = policy.poll(now);
      if (next == null) {
        if (running.isEmpty() && !waiting.isEmpty()) {
          throw new AssertionError(waiting.size() + " wait, and nothing runs");
        }
        return;
      }
      if (!waiting.remove(next)) {
        throw new AssertionError("given twice, or withdrawn");
      }
      double times = Math.pow(2, random.nextDouble(-1, 1));
      long nanos = (long) (times * requests.estimates.remainingNanos(next.key()));
      running.add(new Running(next, now, now + nanos));
      watcher.started(next, waiting, now);
    }
  }

  /** Lets time pass; whatever ends meanwhile makes place for others. */
  void pass(long nanos, Watcher watcher) {
    long until = now + nanos;
    while (true) {
      start(watcher);
      @Nullable Running first = null;
      for (Running run : running) {
        first = first == null || run.endNanos < first.endNanos ? run : first;
      }
      if (first == null || first.endNanos > until) {
        now = until;
        return;
      }
      now = first.endNanos;
      running.remove(first);
      policy.ended(first.request, now);
      watcher.ended(first.request, now - first.beginNanos);
    }
  }

  /** Until nobody waits. */
  void drain(Watcher watcher) {
    while (!waiting.isEmpty() || !running.isEmpty()) {
      pass(1_000_000, watcher);
    }
  }
}
