package io.pipelane.bench.density;

import io.pipelane.bench.measure.Medians;
import io.pipelane.switcher.simulator.RunSpread;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The times of runs that found their weights there, one after another with pauses in between, and
 * of some that stood in line.
 */
final class WarmRuns {
  private final List<long[]> segments = new ArrayList<>();
  private final List<Double> computing = new ArrayList<>();
  private final List<Double> latencies = new ArrayList<>();
  private final List<Double> behind = new ArrayList<>();

  /** Counts a run; what it has waited all the same is left out. */
  void add(LiveDevice.Run run) {
    computing.add((double) run.computingNanos());
    latencies.add((double) (run.latencyNanos() - run.stallNanos()));
    long @Nullable [] told = run.segmentNanos();
    if (told != null) {
      segments.add(told);
    }
  }

  /**
   * Counts a run that stood in line by the time from the answer before it to its own, less stall.
   */
  void addBehind(long nanos) {
    behind.add((double) nanos);
  }

  /** How long each segment computes; the median of each. Empty where runs have not told. */
  List<Long> segmentNanos() {
    if (segments.isEmpty()) {
      return List.of();
    }
    return IntStream.range(0, segments.getFirst().length)
        .mapToObj(i -> median(segments.stream().map(run -> (double) run[i]).toList()))
        .toList();
  }

  /** From the begin of a run to its end. */
  long computingNanos() {
    return median(computing);
  }

  /** From a request's coming to its answer. */
  long latencyNanos() {
    return median(latencies);
  }

  /** From the answer before it to its own, where a request stood in line. */
  long behindNanos() {
    return median(behind);
  }

  /** What of a request is hidden behind the one before it, where it stood in line. */
  long hiddenNanos() {
    return Math.max(0, latencyNanos() - behindNanos());
  }

  /** How runs spread that stood in line: they wait for nothing, not even to be woken up. */
  RunSpread spread() {
    return new RunSpread(behind.stream().mapToLong(Math::round).toArray());
  }

  private static long median(List<Double> values) {
    return Math.round(Medians.of(values));
  }
}
