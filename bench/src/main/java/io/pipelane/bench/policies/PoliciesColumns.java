package io.pipelane.bench.policies;

import io.pipelane.bench.report.Column;
import java.util.List;

/** What {@code bench policies} measures. */
final class PoliciesColumns {
  static final Column P50 = new Column("p50_ms", "p50 ms", 2);
  static final Column MEAN = new Column("mean_ms", "mean ms", 2);
  static final Column P99 = new Column("p99_ms", "p99 ms", 1);
  static final Column FIFO_P50 = new Column("fifo_to_p50", "fifo's p50/p50", 2);
  static final Column FIFO_MEAN = new Column("fifo_to_mean", "fifo's mean/mean", 2);
  static final Column FIFO_P99 = new Column("fifo_to_p99", "fifo's p99/p99", 2);
  static final Column SHORT_P99 = new Column("short_p99_ms", "short p99 ms", 1);
  static final Column LONG_P50 = new Column("long_p50_ms", "long p50 ms", 1);
  static final Column LONG_MOST = new Column("long_most_ms", "long most ms", 1);
  static final Column FAILED = new Column("failed", "failed", 0);
  static final Column ESTIMATE_ERROR = new Column("estimate_error_percent", "estimate off %", 1);
  static final Column OFFERED = new Column("offered_per_s", "offered /s", 1);

  static final List<Column> ALL =
      List.of(
          P50,
          MEAN,
          P99,
          FIFO_P50,
          FIFO_MEAN,
          FIFO_P99,
          SHORT_P99,
          LONG_P50,
          LONG_MOST,
          FAILED,
          ESTIMATE_ERROR,
          OFFERED);

  static final String TITLE = "Policies of scheduling under the same load";

  static final List<String> NOTES =
      List.of(
          "Medians over rounds. In each round every policy has its turn with the same requests at"
              + " the same times (Poisson), in a server of its own on the CPU, in this process,"
              + " without HTTP; ratios to fifo are taken within rounds, above 1 is better than"
              + " fifo.",
          "Latency: from the time at which a request was meant to leave to its answer.",
          "The mix: mostly ppocr-cls 48x192 and minilm-l6-v2 with 16 tokens (short), and a few"
              + " ppocr-v4-det 640x640 (long). All weights are on the device.",
          "The rate is what --load says of what the lanes can do, by each case's median time alone,"
              + " taken before the first round.",
          "simulated: ten minutes of such requests in the simulator's time, every run as long as"
              + " its case takes alone; the policies are the server's. No machine has a part in it"
              + " but for those times.",
          "estimate off: the median error of what runs were expected to take. Requests run one by"
              + " one unless --batching is given.");

  private PoliciesColumns() {}
}
