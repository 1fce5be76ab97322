package io.pipelane.server.jobs;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.statistics.InferenceStatistics;
import io.pipelane.server.statistics.ModelCounters;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/**
 * The order in which jobs of one class go that wait: those first that had begun, as they came, and
 * then the one that needs least, less a part of the time that it has waited, or the one that came
 * first. Safe for any thread.
 */
final class JobOrder {
  /*
   * With ageing above 0 no job waits for ever: one that needs R, and came R / ageing before
   * another, goes before that whatever it needs, unless that had begun.
   */

  /** What an item is thought to take of a model that has answered nothing yet. */
  private static final long UNKNOWN_ITEM_NANOS = 1_000_000;

  private final OptionalDouble ageing;
  private final ToLongFunction<ModelVersion> itemNanos;
  private final LongSupplier nanoClock;

  private record Ranked(Job job, double rank) {}

  /**
   * An order.
   *
   * @param ageing the part of its waiting time that is taken off what a job needs; empty where jobs
   *     begin as they came
   * @param itemNanos what an item of a model usually takes
   * @param nanoClock by which the jobs came
   */
  JobOrder(OptionalDouble ageing, ToLongFunction<ModelVersion> itemNanos, LongSupplier nanoClock) {
    this.ageing = ageing;
    this.itemNanos = itemNanos;
    this.nanoClock = nanoClock;
  }

  /** What an item of a model usually takes, by what its requests took so far, without stalls. */
  static ToLongFunction<ModelVersion> itemNanos(InferenceStatistics statistics) {
    return model -> statistics.find(model).map(JobOrder::itemNanos).orElse(UNKNOWN_ITEM_NANOS);
  }

  private static long itemNanos(ModelCounters counters) {
    ModelCounters.Total runs = counters.execute();
    return runs.count() == 0
        ? UNKNOWN_ITEM_NANOS
        : Math.max(1, (runs.nanos() - counters.stall().nanos()) / runs.count());
  }

  /**
   * Jobs as they are to go.
   *
   * @param waiting as they came; equals stay so
   */
  List<Job> of(List<Job> waiting) {
    if (waiting.size() < 2) {
      return List.copyOf(waiting);
    }
    long now = nanoClock.getAsLong();
    return waiting.stream()
        .map(job -> new Ranked(job, rank(job, now)))
        .sorted(Comparator.comparingDouble(Ranked::rank))
        .map(Ranked::job)
        .toList();
  }

  private double rank(Job job, long nowNanos) {
    if (job.hasBegun()) {
      return Double.NEGATIVE_INFINITY;
    }
    if (ageing.isEmpty()) {
      return 0;
    }
    return job.work().behindNanos(itemNanos.applyAsLong(job.spec().model()))
        - ageing.getAsDouble() * (nowNanos - job.work().cameNanos());
  }
}
