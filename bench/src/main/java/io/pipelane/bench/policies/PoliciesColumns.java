package io.pipelane.bench.policies;

import io.pipelane.bench.report.Column;
import java.util.List;

/**
 * The columns of {@code bench policies}.
 *
 * @param first names what the others are compared with
 */
record PoliciesColumns(String first) {
  static final Column P50 = new Column("p50_ms", "p50 ms", 2);
  static final Column MEAN = new Column("mean_ms", "mean ms", 2);
  static final Column P99 = new Column("p99_ms", "p99 ms", 1);
  static final Column SHORT_MEAN = new Column("short_mean_ms", "short mean ms", 2);
  static final Column SHORT_P99 = new Column("short_p99_ms", "short p99 ms", 1);
  static final Column LONG_P50 = new Column("long_p50_ms", "long p50 ms", 1);
  static final Column LONG_MOST = new Column("long_most_ms", "long most ms", 1);
  static final Column MADE_WAY = new Column("made_way", "made way", 0);
  static final Column FAILED = new Column("failed", "failed", 0);
  static final Column ESTIMATE_ERROR = new Column("estimate_error_percent", "estimate off %", 1);
  static final Column ANSWER_ERROR = new Column("answer_estimate_error_percent", "answer off %", 1);
  static final Column OFFERED = new Column("offered_per_s", "offered /s", 1);

  static final String TITLE = "Policies of scheduling under the same load";

  static final String RESTARTS_TITLE = "Online runs that make way to shorter ones";

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
          "estimate off: the median error of what runs were expected to take. answer off: of the time"
              + " from a request's coming to its answer, what is ahead of it counted, as expected"
              + " when it came into line (one of sixteen is looked at). Requests run one by"
              + " one unless --batching is given.");

  static final List<String> RESTARTS_NOTES =
      List.of(
          "Medians over rounds. In each round each number of restarts (scheduling.restarts) has its"
              + " turn with the same requests at the same times (Poisson), under srtf, in a server"
              + " of its own on the CPU, in this process, without HTTP; ratios are taken within"
              + " rounds, above 1 is better than the first row.",
          "Latency: from the time at which a request was meant to leave to its answer.",
          "The mix: mostly ppocr-cls 48x192 and minilm-l6-v2 with 16 tokens (short), and a few"
              + " ppocr-v4-det 640x640 (long). Device memory holds the weights of the largest alone,"
              + " minilm-l6-v2: it fits beside neither of the others.",
          "The rate is what --load says of what the lanes can do, by each case's median time alone,"
              + " its weights there, taken before the first round.",
          "made way: online runs that ended at a gate for a request's weights, and began anew."
              + " Requests run one by one unless --batching is given.");

  Column p50Ratio() {
    return ratio("p50");
  }

  Column meanRatio() {
    return ratio("mean");
  }

  Column p99Ratio() {
    return ratio("p99");
  }

  private Column ratio(String figure) {
    return new Column(first + "_to_" + figure, "%s's %s/%s".formatted(first, figure, figure), 2);
  }

  /** All of them, in their order. */
  List<Column> all() {
    return List.of(
        P50,
        MEAN,
        P99,
        p50Ratio(),
        meanRatio(),
        p99Ratio(),
        SHORT_MEAN,
        SHORT_P99,
        LONG_P50,
        LONG_MOST,
        MADE_WAY,
        FAILED,
        ESTIMATE_ERROR,
        ANSWER_ERROR,
        OFFERED);
  }
}
