package io.pipelane.switcher.schedule;

import io.pipelane.modelstore.ModelVersion;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Models share the device's time evenly: of those that wait, the model runs next that has been
 * served least (Salus, MLSys version, §4.3). Its requests run in the order in which they came.
 */
final class FairSharing implements SchedulingPolicy {
  /*
   * Service is charged when a request is taken, as estimated. A model that had nothing to do does
   * not save up: it comes back with no less than the model that was served last had before. So a
   * waiting model is served once those that were served less have caught up with it, whatever comes
   * meanwhile. Accounts below that mark mean nothing any more, and are dropped.
   */
  private static final long LEAST_CHARGE_NANOS = 1_000;
  private static final int MOST_ACCOUNTS = 4_096;

  private final Estimates estimates;
  private final Map<ModelVersion, Deque<QueuedRequest>> lines = new HashMap<>();
  private final Map<ModelVersion, Double> servedNanos = new HashMap<>();
  private double markNanos;

  FairSharing(Estimates estimates) {
    this.estimates = estimates;
  }

  @Override
  public void add(QueuedRequest request) {
    ModelVersion model = request.key().model();
    lines
        .computeIfAbsent(
            model,
            _ -> {
              servedNanos.merge(model, markNanos, Math::max);
              return new ArrayDeque<>();
            })
        .addLast(request);
  }

  @Override
  public @Nullable QueuedRequest poll(long nowNanos) {
    if (lines.isEmpty()) {
      return null;
    }
    QueuedRequest next = lines.values().stream().min(turns()).orElseThrow().getFirst();
    ModelVersion model = next.key().model();
    markNanos = served(model);
    long charge = Math.max(LEAST_CHARGE_NANOS, estimates.remainingNanos(next.key()));
    servedNanos.put(model, markNanos + charge);
    remove(next);
    if (servedNanos.size() > MOST_ACCOUNTS) {
      servedNanos.entrySet().removeIf(account -> account.getValue() <= markNanos);
    }
    return next;
  }

  private double served(ModelVersion model) {
    return servedNanos.getOrDefault(model, markNanos);
  }

  private Comparator<Deque<QueuedRequest>> turns() {
    return Comparator.<Deque<QueuedRequest>>comparingDouble(
            line -> served(line.getFirst().key().model()))
        .thenComparingLong(line -> line.getFirst().submittedNanos());
  }

  @Override
  public void remove(QueuedRequest request) {
    @Nullable Deque<QueuedRequest> line = lines.get(request.key().model());
    if (line != null) {
      line.remove(request);
      if (line.isEmpty()) {
        lines.remove(request.key().model());
      }
    }
  }

  @Override
  public List<QueuedRequest> first(int count, long nowNanos) {
    return lines.values().stream().sorted(turns()).limit(count).map(Deque::getFirst).toList();
  }
}
