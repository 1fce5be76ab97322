package io.pipelane.bench.density;

import io.pipelane.bench.report.Column;
import io.pipelane.bench.report.Results;
import io.pipelane.switcher.simulator.CopyReason;
import io.pipelane.switcher.simulator.Replay;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The runs that stall, live and simulated: by what they found on the device. */
final class StallParts {
  private static final List<Column> LIVE = columns("", "");
  private static final List<Column> SIMULATED = columns("simulated_", "simulated ");
  private static final Column MOVED = new Column("moved_gb", "GB moved", 1);
  private static final Column AHEAD = new Column("ahead_gb", "ahead", 1);
  private static final Column SIMULATED_MOVED =
      new Column("simulated_moved_gb", "simulated GB moved", 1);
  private static final Column SIMULATED_AHEAD = new Column("simulated_ahead_gb", "ahead", 1);

  private final Results results =
      new Results(
          "What stalls consist of",
          Stream.of(
                  LIVE, List.of(MOVED, AHEAD), SIMULATED, List.of(SIMULATED_MOVED, SIMULATED_AHEAD))
              .flatMap(List::stream)
              .toList(),
          List.of(
              "All runs but the first quarter's; those of the variant that ran just before, with all"
                  + " pages there; those with all pages there, or on their way, that had to be put under"
                  + " their structure's addresses; and those that sent for weights themselves.",
              "run: from its begin to its end; simulated with what a request takes beside it. MB: what"
                  + " a run sent for, in the mean. GB: of the whole trace."));

  private static List<Column> columns(String key, String heading) {
    return List.of(
        new Column(key + "share_percent", heading + "% of runs", 1),
        new Column(key + "stall_mean_ms", "stall mean ms", 3),
        new Column(key + "stall_p50_ms", "p50", 3),
        new Column(key + "stall_p99_ms", "p99", 3),
        new Column(key + "run_mean_ms", "run mean ms", 3),
        new Column(key + "run_p50_ms", "p50", 3),
        new Column(key + "run_p99_ms", "p99", 3),
        new Column(key + "missed_mb", "MB", 1));
  }

  Results results() {
    return results;
  }

  /** Adds a trace that was asked in earnest, and simulated. */
  void add(String label, Replay live, Replay simulated) {
    add(label, live, LIVE);
    add(label, simulated, SIMULATED);
    results.add(label, MOVED, live.bytesMoved() / 1e9);
    results.add(label, AHEAD, ahead(live));
    results.add(label, SIMULATED_MOVED, simulated.bytesMoved() / 1e9);
    results.add(label, SIMULATED_AHEAD, ahead(simulated));
  }

  private static double ahead(Replay replay) {
    return (replay.bytesMoved() - replay.bytes().getOrDefault(CopyReason.DEMAND, 0L)) / 1e9;
  }

  private void add(String label, Replay replay, List<Column> columns) {
    Replay settled = replay.after(replay.stallNanos().length / 4);
    int[] models = settled.models();
    IntPredicate missed = i -> settled.missedBytes()[i] > 0;
    IntPredicate again = i -> i > 0 && models[i] == models[i - 1];
    add(label, settled, _ -> true, columns);
    add(label + ": the one before again", settled, again.and(missed.negate()), columns);
    add(label + ": others all there", settled, again.or(missed).negate(), columns);
    add(label + ": sent for weights", settled, missed, columns);
  }

  private void add(String label, Replay replay, IntPredicate which, List<Column> columns) {
    int[] runs = IntStream.range(0, replay.stallNanos().length).filter(which).toArray();
    results.add(label, columns.get(0), 100.0 * runs.length / replay.stallNanos().length);
    if (runs.length > 0) {
      long[] stalls = Arrays.stream(runs).mapToLong(i -> replay.stallNanos()[i]).toArray();
      results.add(label, columns.get(1), mean(stalls) / 1e6);
      results.add(label, columns.get(2), Replay.quantile(stalls, 0.5) / 1e6);
      results.add(label, columns.get(3), Replay.quantile(stalls, 0.99) / 1e6);
      long[] nanos = Arrays.stream(runs).mapToLong(i -> replay.runNanos()[i]).toArray();
      results.add(label, columns.get(4), mean(nanos) / 1e6);
      results.add(label, columns.get(5), Replay.quantile(nanos, 0.5) / 1e6);
      results.add(label, columns.get(6), Replay.quantile(nanos, 0.99) / 1e6);
      long[] bytes = Arrays.stream(runs).mapToLong(i -> replay.missedBytes()[i]).toArray();
      results.add(label, columns.get(7), mean(bytes) / 1e6);
    }
  }

  private static double mean(long[] values) {
    return Arrays.stream(values).average().orElse(0);
  }
}
