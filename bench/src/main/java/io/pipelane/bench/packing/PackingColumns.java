package io.pipelane.bench.packing;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench packing}. */
final class PackingColumns {
  static final Column MODELS = new Column("models", "models", 0);
  static final Column RATE = new Column("requests_per_s", "requests/s", 1);
  static final Column ALONE = new Column("alone_ms", "mean alone ms", 2);
  static final Column TOGETHER = new Column("together_ms", "mean together ms", 2);
  static final Column ADDED = new Column("added_ms", "added ms", 3);
  static final Column ADDED_50 = new Column("added_p50_ms", "added p50 ms", 3);
  static final Column ADDED_99 = new Column("added_p99_ms", "added p99 ms", 3);
  static final Column STALL = new Column("stall_ms", "stall ms", 3);
  static final Column MEMORY = new Column("memory_gib", "memory GiB", 2);
  static final Column DEVICES = new Column("devices", "devices", 0);
  static final Column ONE_EACH = new Column("devices_one_each", "with one each", 0);
  static final Column STATIC = new Column("devices_static", "static partitions", 0);
  static final Column FAILED = new Column("failed", "failed", 0);

  static final List<Column> ALL =
      List.of(
          MODELS, RATE, ALONE, TOGETHER, ADDED, ADDED_50, ADDED_99, STALL, MEMORY, DEVICES,
          ONE_EACH, STATIC, FAILED);

  static final String TITLE = "Many models that are seldom asked on one device";

  static final List<String> NOTES =
      List.of(
          "Salus' experiment (Yu and Chowdhury, MLSys 2020, section 5.3, figure 10): 14 models of its"
              + " table 2 (all but speech), three instances of each, each asked every --interval"
              + " seconds, at random (Poisson). Paper: less than 5 ms are added, 1 device instead of"
              + " 42, and of 6 with MPS.",
          "simulated: an hour of such requests under the server's srtf and one lane. A run takes"
              + " 20 us a layer, as ResNet-152 does on an H200 (3.1 ms, 156 layers): with one image"
              + " kernels are short and the time is that of their launches. Computed for the other"
              + " models, not measured.",
          "memory: all weights, 15 MB for each model's session, and one lane as large as the largest"
              + " model's activations are taken to be (256 MiB). All of it fits, so no request waits"
              + " for weights. static partitions: as many devices of --memory as are needed when each"
              + " instance has a process of its own with its weights, 256 MiB of activations, 15 MB of"
              + " session and 500 MB of context (first fit, the largest first).",
          "live: --copies of each of --model on --device, of which --memory is for weights, one lane, in"
              + " this process, srtf, nothing batched. Copies of a model differ in name alone: each has"
              + " pages of its own, their sessions and addresses are shared, so another copy's turn costs"
              + " a remapping (stall, the mean). Alone: the same models in the same server, asked one by"
              + " one, as far apart as requests are together, 50 ms at most. Medians of the rounds, alone"
              + " and together in turns. Added: the mean over the requests of what they took beyond their"
              + " model's mean alone. memory: by the ledger: pages lent, sessions, lanes, libraries. On"
              + " cores that other programs use, a part of what is added is theirs.");

  private PackingColumns() {}
}
