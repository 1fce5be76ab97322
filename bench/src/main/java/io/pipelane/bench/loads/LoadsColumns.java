package io.pipelane.bench.loads;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench loads}. */
final class LoadsColumns {
  static final Column P50 = new Column("p50_ms", "p50 ms", 2);
  static final Column MEAN = new Column("mean_ms", "mean ms", 2);
  static final Column P99 = new Column("p99_ms", "p99 ms", 2);
  static final Column P50_RATIO = new Column("p50_to_quiet", "p50/quiet", 3);
  static final Column P99_RATIO = new Column("p99_to_quiet", "p99/quiet", 3);
  static final Column LOADS = new Column("loads_per_s", "loads /s", 1);
  static final Column MOVED = new Column("moved_mb_per_s", "moved MB/s", 0);
  static final Column REQUESTS = new Column("requests", "requests", 0);
  static final Column FAILED = new Column("failed", "failed", 0);

  static final List<Column> ALL =
      List.of(P50, MEAN, P99, P50_RATIO, P99_RATIO, LOADS, MOVED, REQUESTS, FAILED);

  static final String TITLE = "A resident model while ten others load";

  static final List<String> NOTES =
      List.of(
          "Medians over rounds. In each round every scene has its turn with the same requests at the"
              + " same times (Poisson), for a model that stays on the device; ratios to quiet are"
              + " taken within rounds; aimed at: p99 at most 1.1 times quiet.",
          "One server in this process, without HTTP for the requests, with one lane; the"
              + " rate is --load of what the lane can do. Memory has room for all, so nobody loses"
              + " anything to a load.",
          "ahead of requests: the ten are taken off the device and wished for, as POST"
              + " /v2/repository/models/{m}/load does, all at once, again and again. For runs that"
              + " wait: one after another is taken off and brought in whole as a cold run would, but"
              + " computes nothing. Put in service: unloaded and loaded over HTTP, one after"
              + " another, with its session.");

  private LoadsColumns() {}
}
