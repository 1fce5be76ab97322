package io.pipelane.loadgen.server;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A server's counts for one model, by the protocol's statistics extension.
 *
 * @param inferences rows inferred
 * @param executions runs of the model; fewer than inferences where the server batches
 * @param times how often each part happened and how long it took in all; {@code queue}, {@code
 *     compute_infer} and whatever else the server names
 */
public record ModelStatistics(long inferences, long executions, Map<String, Time> times) {
  public ModelStatistics {
    times = Map.copyOf(times);
  }

  /** A count and a total. */
  public record Time(long count, long nanos) {
    /** Nanoseconds each time; 0 when it never happened. */
    public double meanNanos() {
      return count == 0 ? 0 : (double) nanos / count;
    }
  }

  /** What both count together, for versions of one model. */
  public ModelStatistics plus(ModelStatistics other) {
    Map<String, Time> sum = new LinkedHashMap<>(times);
    other.times.forEach(
        (part, time) ->
            sum.merge(
                part, time, (one, two) -> new Time(one.count + two.count, one.nanos + two.nanos)));
    return new ModelStatistics(inferences + other.inferences, executions + other.executions, sum);
  }

  /** What was counted since an earlier reading. */
  public ModelStatistics minus(ModelStatistics earlier) {
    Map<String, Time> since = new LinkedHashMap<>();
    times.forEach(
        (part, time) -> {
          Time before = earlier.times.getOrDefault(part, new Time(0, 0));
          since.put(part, new Time(time.count - before.count, time.nanos - before.nanos));
        });
    return new ModelStatistics(
        inferences - earlier.inferences, executions - earlier.executions, since);
  }
}
