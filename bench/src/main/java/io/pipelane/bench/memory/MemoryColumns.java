package io.pipelane.bench.memory;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench memory}. */
final class MemoryColumns {
  static final Column COPY = new Column("copy_ms", "copy ms", 2);
  static final Column INFERENCE = new Column("inference_ms", "inference ms", 2);
  static final Column RATIO = new Column("copy_to_inference", "copy/inference", 3);

  static final List<Column> ALL =
      List.of(
          Kind.WEIGHTS.average(),
          Kind.WEIGHTS.peak(),
          Kind.LANES.average(),
          Kind.LANES.peak(),
          Kind.SESSIONS.average(),
          Kind.SESSIONS.peak(),
          Kind.FRAMEWORK.average(),
          Kind.FRAMEWORK.peak(),
          Kind.WEIGHTS.allocations(),
          Kind.LANES.allocations(),
          Kind.SESSIONS.allocations(),
          Kind.FRAMEWORK.allocations(),
          COPY,
          INFERENCE,
          RATIO);

  static final String TITLE = "Device memory by kind, and copies beside inferences";

  static final List<String> NOTES =
      List.of(
          "After Salus' figures 4 and 5. Each model alone: its weights are taken"
              + " off the device, then one caller runs it without a pause. Meanwhile the server's"
              + " ledger is looked at every 0.2 ms; average and peak over what was seen. Medians over"
              + " rounds, in MB of 10^6 bytes.",
          "weights: pages of the model on the device, whole pages. ephemeral: what the lane's region"
              + " may touch; within a run the ledger does not tell how much of it is in use."
              + " sessions: constants that sessions keep, and what libraries hold for them. framework:"
              + " what belongs to no session.",
          "allocations: weights' pages; what a warm run asks for; what sessions and the rest have"
              + " asked for since the server's start. Where models run in processes of their own (on a"
              + " GPU), what those ask for is not seen. Rows named \"up to\" are those of all models"
              + " together, by size, each row without those of the rows before.",
          "copy: all weights from host memory to the device, mapping included, while nothing runs."
              + " inference: a warm run as its caller sees it. Medians of a round. Above 1 a"
              + " switch that waits for the whole copy costs more than the run itself, as Salus found"
              + " of many models; groups that come while others compute hide it. Rows named"
              + " \"quantile\" are over all models measured.");

  private MemoryColumns() {}
}
