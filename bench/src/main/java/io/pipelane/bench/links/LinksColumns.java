package io.pipelane.bench.links;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench links}. */
final class LinksColumns {
  static final Column WARM = new Column("warm_ms", "warm ms", 2);
  static final Column COLD = new Column("cold_ms", "cold ms", 2);
  static final Column STALL = new Column("cold_minus_warm_ms", "cold minus warm ms", 2);
  static final Column TRANSFER = new Column("transfer_ms", "transfer alone ms", 2);
  static final Column RATE = new Column("gb_per_s", "GB/s", 1);
  static final Column SHARE = new Column("borrowed_percent", "over others' links %", 0);
  static final Column PEERS = new Column("peers_percent", "out of others' memory %", 0);
  static final Column QUIET_P50 = new Column("beside_quiet_p50_ms", "beside: quiet p50 ms", 2);
  static final Column QUIET_P99 = new Column("beside_quiet_p99_ms", "quiet p99 ms", 2);
  static final Column LENT_P50 = new Column("beside_lent_p50_ms", "link lent p50 ms", 2);
  static final Column LENT_P99 = new Column("beside_lent_p99_ms", "link lent p99 ms", 2);

  static final List<Column> ALL =
      List.of(
          WARM, COLD, STALL, TRANSFER, RATE, SHARE, PEERS, QUIET_P50, QUIET_P99, LENT_P50,
          LENT_P99);

  static final String TITLE = "One model over several links";

  static final List<String> NOTES =
      List.of(
          "Medians over rounds; in a round the median of its runs. Cold: nothing of the model is on"
              + " its device, the weights are in host memory. Transfer alone: all weights are brought"
              + " in and nothing runs. No HTTP between.",
          "Every row has a server of its own with as many devices. All but the first lend their"
              + " links, and stand idle.",
          "beside: requests for a model whose weights are on the second device, one after another,"
              + " while nothing else goes on (quiet) and while the first model is brought in without"
              + " a pause (link lent).",
          "in turns: two models in turns on a device with room for one and a half; another"
              + " has one that nobody asks for, and as much room. All links are borrowed in both rows.",
          "On the CPU links are imitated and devices share the processors.");

  private LinksColumns() {}
}
