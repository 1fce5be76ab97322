package io.pipelane.bench.cycles;

import io.pipelane.bench.cycles.Way.Role;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.measure.Timing;
import java.util.EnumMap;
import java.util.Map;

/** The times of each model's runs by a way while no turn changes. */
final class Alone {
  private static final double MILLIS_PER_SECOND = 1e3;

  private final Way way;
  private final Map<Role, Samples> millis =
      new EnumMap<>(Map.of(Role.BACKGROUND, new Samples(), Role.INFERENCE, new Samples()));

  /** Nothing measured yet. */
  Alone(Way way) {
    this.way = way;
  }

  /** Runs each model for a while; the run that switches to it does not count. */
  void measure(long nanosEach) throws Exception {
    for (Role role : Role.values()) {
      Run run = way.begin(role);
      run.run();
      long end = System.nanoTime() + nanosEach;
      do {
        of(role).add(Timing.millis(run));
      } while (System.nanoTime() < end);
      way.end();
    }
  }

  /** The latencies of a model's runs, in milliseconds. */
  Samples of(Role role) {
    return millis.computeIfAbsent(role, _ -> new Samples());
  }

  /** Seconds that so many runs of each would have taken. */
  double seconds(Map<Role, Long> runs) {
    double sum = 0;
    for (Role role : Role.values()) {
      sum += runs.getOrDefault(role, 0L) * of(role).mean();
    }
    return sum / MILLIS_PER_SECOND;
  }
}
