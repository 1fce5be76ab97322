package io.pipelane.switcher.schedule.simulator;

import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.policy.Room;
import io.pipelane.switcher.schedule.policy.SchedulingPolicies;
import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * A simulator of a policy's latencies, without a device and in no time. Requests come when they are
 * said to, every run takes what is known of it, weights are all there, and nothing is batched or
 * interrupted. The policies are the server's. Belongs to one thread.
 */
public final class QueueSimulator {
  private final Estimates estimates = new Estimates(_ -> 0);
  private final SchedulingPolicy policy;
  private final RequestQueue queue;
  private final int lanes;
  private final IdentityHashMap<QueuedRequest, Integer> numbers = new IdentityHashMap<>();
  private final PriorityQueue<Running> running =
      new PriorityQueue<>(Comparator.comparingLong(Running::endNanos));

  /**
   * A request.
   *
   * @param nanos when it comes; not before the one in front of it
   * @param runNanos what its run takes, the same for all of its model
   */
  public record Arrival(long nanos, ModelVersion model, long runNanos) {}

  private record Running(QueuedRequest request, long endNanos) {}

  /** A policy with nothing to do on so many lanes. */
  public QueueSimulator(SchedulingConfig config, int lanes) {
    Room room = new Room(estimates, Long.MAX_VALUE, () -> Long.MAX_VALUE);
    this.policy = SchedulingPolicies.of(config, estimates, room);
    this.lanes = lanes;
    this.queue =
        new RequestQueue(policy, estimates, lanes, Integer.MAX_VALUE, Long.MAX_VALUE, () -> 0);
  }

  /** Runs all requests; by request, nanoseconds from its coming to its end. */
  public long[] latencyNanos(List<Arrival> arrivals) {
    long[] latencies = new long[arrivals.size()];
    for (int i = 0; i < latencies.length; i++) {
      Arrival arrival = arrivals.get(i);
      runUntil(arrival.nanos, arrivals, latencies);
      add(i, arrival);
      start(arrival.nanos, arrivals);
    }
    runUntil(Long.MAX_VALUE, arrivals, latencies);
    return latencies;
  }

  private void add(int number, Arrival arrival) {
    InferenceRequest request = new InferenceRequest(arrival.model, List.of(), List.of());
    QueuedRequest queued = new QueuedRequest(queue, request, Unanswered.INSTANCE, arrival.nanos);
    if (estimates.executionNanos(queued.key()) == 0) {
      estimates.learn(queued.key(), arrival.runNanos);
    }
    numbers.put(queued, number);
    policy.add(queued);
  }

  private void runUntil(long nanos, List<Arrival> arrivals, long[] latencies) {
    while (!running.isEmpty() && running.peek().endNanos <= nanos) {
      Running ended = running.remove();
      Integer number = numbers.remove(ended.request);
      if (number != null) {
        latencies[number] = ended.endNanos - arrivals.get(number).nanos;
      }
      policy.ended(ended.request, ended.endNanos);
      start(ended.endNanos, arrivals);
    }
  }

  private void start(long now, List<Arrival> arrivals) {
    while (running.size() < lanes) {
      @Nullable QueuedRequest next = policy.poll(now);
      @Nullable Integer number = next == null ? null : numbers.get(next);
      if (next == null || number == null) {
        return;
      }
      running.add(new Running(next, now + arrivals.get(number).runNanos));
    }
  }
}
