package io.pipelane.bench.levers;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench levers}. */
final class LeversColumns {
  static final Column STALL_MEAN = new Column("stall_mean_ms", "stall mean ms", 2);
  static final Column STALL_P50 = new Column("stall_p50_ms", "p50 ms", 2);
  static final Column STALL_P99 = new Column("stall_p99_ms", "p99 ms", 2);
  static final Column WITHOUT_STALL = new Column("without_stall_percent", "without stall %", 1);
  static final Column MOVED = new Column("moved_mb_a_request", "MB a request", 2);
  static final Column LATENCY_MEAN = new Column("latency_mean_ms", "latency mean ms", 2);
  static final Column LATENCY_P99 = new Column("latency_p99_ms", "p99 ms", 1);
  static final Column STALL_RATIO = new Column("stall_to_everything", "stall/everything on", 2);
  static final Column MOVED_RATIO = new Column("moved_to_everything", "bytes/everything on", 2);
  static final Column LATENCY_RATIO =
      new Column("latency_to_everything", "latency/everything on", 2);
  static final Column FAILED = new Column("failed", "failed", 0);

  static final List<Column> ALL =
      List.of(
          STALL_MEAN,
          STALL_P50,
          STALL_P99,
          WITHOUT_STALL,
          MOVED,
          LATENCY_MEAN,
          LATENCY_P99,
          STALL_RATIO,
          MOVED_RATIO,
          LATENCY_RATIO,
          FAILED);

  static final String TITLE = "Switching with each lever off in turn";

  static final List<String> NOTES =
      List.of(
          "Medians over rounds. In each round every form has its turn with the same requests at the"
              + " same times (Poisson; popularity by Zipf, 0.9), live in a server of its own in this"
              + " process, without HTTP; every other round in the opposite order. Ratios to"
              + " everything on are taken within rounds: above 1 the lever is worth something.",
          "Live: on --device with one lane and memory for --share of all streamed weights (as they are"
              + " when tables are read in place); on the CPU with a link of --link and pages of 1 MiB,"
              + " on a GPU with its own and pages of 16 MiB; --copies of"
              + " each of --model under names of their own. A server is warmed up with --warmup"
              + " seconds of such requests. Requests run one by one.",
          "Versions: the same where all copies of a model but the first have last weights of their own"
              + " and share pages; elsewhere copies stand for different models, and share none. From"
              + " disk: a quarter of the requests, the first for each model since a start, without a"
              + " warm-up; nothing of the weights is in the page cache, the host tier has room for all,"
              + " and sessions are built meanwhile, so latencies say little. Beside loads: requests for the more popular half of"
              + " the models, while the other half is taken off the device and wished for, all at once,"
              + " again and again; memory has room for all.",
          "Without a row: links and memory of other devices (bench links); weights that are shown out"
              + " of the page cache (switching.map-weights, without effect behind"
              + " --link); reading ahead (host-tier.read-ahead), which brings back what was asked for"
              + " once and has left host memory since, as happens to none of these servers (what it"
              + " saves is what bench tiers tells between from disk and from memory); and files that"
              + " are stored once where versions have them alike, which is not turned off.",
          "H200: the same levers in the simulator, with 60 variants of the structures that were"
              + " recorded on one (h200-stalls.json), room for a fifth of their bytes and 50 requests a"
              + " second for 180 s; pages of 16 MiB. Nothing is read in place there.",
          "Stall: what a run waited for weights; without: up to 0.08 ms. MB a request: all copies,"
              + " those made ahead as well. Latency: from the time at which a request was meant to"
              + " leave to its answer.",
          "Groups: optimal by measured times; on the CPU equal bytes are as good as a copy for each"
              + " segment. Whole models give way in the order of last use (lru), by how often they were"
              + " asked (lfu), or by that, their size and what bringing them in costs"
              + " (greedy-dual-size); nothing stays is PipeSwitch's way. Shared structures are there for their sessions' memory, not for"
              + " stalls: variants take turns in one range of addresses.");

  private LeversColumns() {}
}
