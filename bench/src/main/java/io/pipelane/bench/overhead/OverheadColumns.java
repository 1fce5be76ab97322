package io.pipelane.bench.overhead;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench overhead}. */
final class OverheadColumns {
  static final Column PLAIN = new Column("plain_ms", "plain ms", 3);
  static final Column PIPELANE = new Column("pipelane_ms", "Pipelane ms", 3);
  static final Column RUN = new Column("run_ms", "of it the run ms", 3);
  static final Column RATIO = new Column("pipelane_to_plain", "Pipelane/plain", 3);
  static final Column WEIGHTS = new Column("weights_mb", "weights MB", 1);

  static final List<Column> ALL = List.of(PLAIN, PIPELANE, RUN, RATIO, WEIGHTS);

  static final String TITLE = "An iteration in Pipelane over one in a plain session";

  static final List<String> NOTES =
      List.of(
          "After Salus' section 5.4 (figure 12), with inferences: each model alone, one caller, weights on the"
              + " device; aimed at: Pipelane/plain at most 1.05.",
          "Medians over rounds. Within a round the two take turns, a short stretch each; its ratio"
              + " is that of its medians.",
          "Pipelane: a request from its submission to its answer in the caller's memory, in this"
              + " process, without HTTP, through queue and lane; so it hops to a lane's thread and"
              + " back. \"of it the run\" is the run on the lane's thread, as the server counts it.",
          "plain: a session of the same file with the same threads (one on the CPU), default"
              + " optimisation, inputs bound once, its answer left where ONNX Runtime put it.",
          "Requests and answers of 64 KiB and more lie where the server's front ends have them, which"
              + " a GPU reads and writes directly; plain's lie in ordinary memory, as a process has"
              + " them that reads them from a socket. bench switch has both in pinned memory.",
          "On a GPU models run in worker processes, as they do by default there.",
          "weights: what is streamed to the device.");

  private OverheadColumns() {}
}
