package io.pipelane.bench.levers;

import io.pipelane.bench.measure.Samples;
import io.pipelane.bench.report.Results;
import io.pipelane.switcher.simulator.Replay;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;

/**
 * The figures of a stream of requests.
 *
 * @param stalls in milliseconds, of those that were answered
 * @param latencies in milliseconds
 * @param megabytes moved for each request
 * @param failed requests without an answer
 */
record Figures(Samples stalls, Samples latencies, double megabytes, int failed) {
  private static final double NO_STALL_MILLIS = Replay.NO_STALL_NANOS / 1e6;

  /** Figures of requests in milliseconds, NaN for those without an answer. */
  static Figures of(double[] stalls, double[] latencies, double megabytes) {
    Samples waited = samples(stalls);
    return new Figures(waited, samples(latencies), megabytes, stalls.length - waited.count());
  }

  private static Samples samples(double[] values) {
    Samples samples = new Samples();
    Arrays.stream(values).filter(value -> !Double.isNaN(value)).forEach(samples::add);
    return samples;
  }

  private double percentWithoutStall() {
    long without = stalls.values().stream().filter(stall -> stall <= NO_STALL_MILLIS).count();
    return 100.0 * without / stalls.count();
  }

  /**
   * Adds a round.
   *
   * @param device where it was
   * @param figures of the same stream with each lever off, and with none
   */
  static void addRound(Results results, String device, Map<Lever, Figures> figures) {
    Figures everything = Objects.requireNonNull(figures.get(Lever.NONE));
    figures.forEach((lever, of) -> of.add(results, device + ": " + lever.label(), everything));
  }

  private void add(Results results, String row, Figures everything) {
    results.add(row, LeversColumns.STALL_MEAN, stalls.mean());
    results.add(row, LeversColumns.STALL_P50, stalls.median());
    results.add(row, LeversColumns.STALL_P99, stalls.quantile(0.99));
    results.add(row, LeversColumns.WITHOUT_STALL, percentWithoutStall());
    results.add(row, LeversColumns.MOVED, megabytes);
    results.add(row, LeversColumns.LATENCY_MEAN, latencies.mean());
    results.add(row, LeversColumns.LATENCY_P99, latencies.quantile(0.99));
    if (everything.stalls.mean() > 0) { // Where all models fit nothing may have waited.
      results.add(row, LeversColumns.STALL_RATIO, stalls.mean() / everything.stalls.mean());
    }
    results.add(row, LeversColumns.MOVED_RATIO, megabytes / everything.megabytes);
    results.add(row, LeversColumns.LATENCY_RATIO, latencies.mean() / everything.latencies.mean());
    results.add(row, LeversColumns.FAILED, failed);
  }
}
