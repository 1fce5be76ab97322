package io.pipelane.bench.forms;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench forms}. */
final class FormsColumns {
  static final Column PLAIN_MILLIS = new Column("plain_ms", "plain ms", 3);
  static final Column GATED_MILLIS = new Column("gated_ms", "gated ms", 3);
  static final Column PLAIN_RATE = new Column("plain_per_s", "plain /s", 1);
  static final Column GATED_RATE = new Column("gated_per_s", "gated /s", 1);
  static final Column GATED_TO_PLAIN = new Column("gated_to_plain_rate", "gated/plain", 3);
  static final Column COLD_MILLIS = new Column("cold_ms", "cold ms", 3);
  static final Column PLAIN_COLD_MILLIS = new Column("plain_cold_ms", "plain cold ms", 1);
  static final Column COLD_TO_GATED = new Column("cold_to_gated_ms", "cold/gated", 3);
  static final Column COLD_TO_PLAIN_COLD =
      new Column("cold_to_plain_cold_ms", "cold/plain cold", 3);

  static final List<Column> ALL =
      List.of(
          PLAIN_MILLIS,
          GATED_MILLIS,
          PLAIN_RATE,
          GATED_RATE,
          GATED_TO_PLAIN,
          COLD_MILLIS,
          PLAIN_COLD_MILLIS,
          COLD_TO_GATED,
          COLD_TO_PLAIN_COLD);

  static final String TITLE = "Gated execution beside a plain ONNX Runtime session";

  static final List<String> NOTES =
      List.of(
          "Medians over rounds; every contestant has its turn in every round, and ratios are taken"
              + " within rounds.",
          "ms: latency with one caller. /s: throughput with as many callers as cores, so of"
              + " gated/plain a higher one is better.",
          "plain: one ai.onnxruntime session, one thread a run, default optimisation (ALL), its"
              + " answer left unread. gated: in the process, without HTTP; the answer is"
              + " copied out.",
          "A run in Pipelane hops from its caller's thread to a lane's and back, which the plain"
              + " session's does not; the case noop shows what the hop costs.",
          "cold: the weights are taken off the device before each run, warmed up as warm runs are."
              + " plain cold: a session is made from the file and runs once.");

  private FormsColumns() {}
}
