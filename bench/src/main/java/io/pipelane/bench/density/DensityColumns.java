package io.pipelane.bench.density;

import io.pipelane.bench.report.Column;
import io.pipelane.bench.report.Results;
import io.pipelane.bench.residency.Outcome;
import java.util.List;

/** The columns of {@code bench density}. */
final class DensityColumns {
  private static final Column TIMES = new Column("times_whole", "x whole", 2);
  private static final Column MEAN = new Column("stall_mean_ms", "stall mean ms", 3);
  private static final Column P50 = new Column("stall_p50_ms", "p50", 3);
  private static final Column P99 = new Column("stall_p99_ms", "p99", 3);
  private static final Column P999 = new Column("stall_p999_ms", "p99.9", 3);
  private static final Column WITHOUT = new Column("without_stall_percent", "without %", 1);
  private static final Column MOVED = new Column("moved_gb", "GB moved", 1);
  private static final Column AHEAD = new Column("ahead_gb", "ahead", 1);
  private static final Column LATENCY_P50 = new Column("latency_p50_ms", "latency p50 ms", 2);
  private static final Column LATENCY_P99 = new Column("latency_p99_ms", "p99", 2);
  private static final Column SIMULATED_MEAN =
      new Column("simulated_stall_mean_ms", "simulated stall mean ms", 3);
  private static final Column SIMULATED_P99 = new Column("simulated_stall_p99_ms", "p99", 3);
  private static final Column SIMULATED_LATENCY =
      new Column("simulated_latency_p50_ms", "latency p50 ms", 2);
  private static final Column SIMULATED_LATENCY_P99 =
      new Column("simulated_latency_p99_ms", "p99", 2);

  private static final Column STALL_OFF =
      new Column("stall_mean_off_of_allowed", "off/allowed: stall mean", 2);
  private static final Column STALL_P99_OFF = new Column("stall_p99_off_of_allowed", "p99", 2);
  private static final Column LATENCY_OFF =
      new Column("latency_mean_off_of_allowed", "latency mean", 2);
  private static final Column LATENCY_P99_OFF = new Column("latency_p99_off_of_allowed", "p99", 2);

  /** Of a mean, what the simulator may be off by; of p99 it is twice that. */
  private static final double ALLOWED = 0.05;

  private static final double ALLOWED_MILLIS = 0.1;

  static final List<Column> ALL =
      List.of(
          TIMES,
          MEAN,
          P50,
          P99,
          P999,
          WITHOUT,
          MOVED,
          AHEAD,
          LATENCY_P50,
          LATENCY_P99,
          SIMULATED_MEAN,
          SIMULATED_P99,
          SIMULATED_LATENCY,
          SIMULATED_LATENCY_P99,
          STALL_OFF,
          STALL_P99_OFF,
          LATENCY_OFF,
          LATENCY_P99_OFF);

  static final String TITLE = "Variants that one device answers for, live and simulated";

  static final List<String> NOTES =
      List.of(
          "Variants differ in name and read the same pinned host memory; each has device pages of"
              + " its own. Popularity follows Zipf's law (0.9), requests come independently; the"
              + " first quarter is not counted.",
          "x whole: variants over those that fit the device with all their weights.",
          "stall: what computation waited for weights, as the run itself has measured it at its"
              + " gates (a server says the same in Pipelane-Stall-Us); on a GPU all that a run which"
              + " has to wait takes beyond the median of late ones that had not. The simulator counts"
              + " likewise. What else makes a run long is in latency alone. without: up to 0.08 ms."
              + " latency: from the intended moment of sending, when it was"
              + " sent, to the answer.",
          "simulated: the same requests replayed without the device, which is empty on both sides at"
              + " first, from what was measured in this run: the link, what any transfer costs, what"
              + " copies and runs beside them take from each other, remapping, and, before and behind each row, the"
              + " segments of warm runs that come as often as requests do. On both sides pages are kept"
              + " by the same profile. What a warm request takes beside its segments comes with the last"
              + " of them. One that has stood in line takes less by what warm runs in a line did.",
          "off/allowed: how far the simulator is from the device, over what it may be: 5 % of a mean, 10"
              + " % of a p99, or 0.1 ms where that is more. Up to 1 it agrees.",
          "One lane, first come, first served, each request in a run of its own. Medians over rounds, each with other requests.");

  private DensityColumns() {}

  static void add(Results results, String label, double times, Outcome live, Outcome simulated) {
    results.add(label, TIMES, times);
    results.add(label, MEAN, live.meanStall());
    results.add(label, P50, live.medianStall());
    results.add(label, P99, live.p99Stall());
    results.add(label, P999, live.p999Stall());
    results.add(label, WITHOUT, 100 * live.shareWithoutStall());
    results.add(label, MOVED, live.gigabytes());
    results.add(label, AHEAD, live.aheadGigabytes());
    results.add(label, LATENCY_P50, live.medianLatency());
    results.add(label, LATENCY_P99, live.p99Latency());
    results.add(label, SIMULATED_MEAN, simulated.meanStall());
    results.add(label, SIMULATED_P99, simulated.p99Stall());
    results.add(label, SIMULATED_LATENCY, simulated.medianLatency());
    results.add(label, SIMULATED_LATENCY_P99, simulated.p99Latency());
    results.add(label, STALL_OFF, off(live.meanStall(), simulated.meanStall(), ALLOWED));
    results.add(label, STALL_P99_OFF, off(live.p99Stall(), simulated.p99Stall(), 2 * ALLOWED));
    results.add(label, LATENCY_OFF, off(live.meanLatency(), simulated.meanLatency(), ALLOWED));
    results.add(
        label, LATENCY_P99_OFF, off(live.p99Latency(), simulated.p99Latency(), 2 * ALLOWED));
  }

  private static double off(double live, double simulated, double allowed) {
    return Math.abs(live - simulated) / Math.max(allowed * live, ALLOWED_MILLIS);
  }
}
