package io.pipelane.bench.faults;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench faults}, told of each fault. */
final class FaultsColumns {
  static final String TITLE = "Faults of worker processes, and what became of the requests";

  static final Column TIMES = new Column("times", "times", 0);
  static final Column TRIED = new Column("tried", "requests", 0);
  static final Column WRONG = new Column("wrong", "wrong", 0);
  static final Column LOST = new Column("unanswered", "lost", 0);
  static final Column REFUSED = new Column("refused", "answered with an error", 0);
  static final Column LEDGER = new Column("ledger_exact", "ledger exact", 0);
  static final Column RECOVERY_MEDIAN = new Column("recovery_p50_ms", "recovery p50 ms", 1);
  static final Column RECOVERY_99 = new Column("recovery_p99_ms", "p99 ms", 1);
  static final Column RECOVERY_MAXIMUM = new Column("recovery_max_ms", "max ms", 1);
  static final Column PAUSE_MEDIAN = new Column("pause_p50_ms", "without a worker p50 ms", 1);
  static final Column PAUSE_99 = new Column("pause_p99_ms", "p99 ms", 1);
  static final Column PAUSE_MAXIMUM = new Column("pause_max_ms", "max ms", 1);

  static final Column BORNE = new Column("borne", "borne", 0);
  static final Column OFFLINE_TRIED = new Column("offline_tried", "offline requests", 0);
  static final Column OFFLINE_WRONG = new Column("offline_wrong", "offline wrong", 0);
  static final Column OFFLINE_FAILED = new Column("offline_failed", "without an answer", 0);

  /** Of fewer faults the 99th percentile is the slowest. */
  static final int LEAST_ROUNDS_FOR_99 = 10;

  private static final List<Column> ALL =
      List.of(
          TIMES,
          TRIED,
          WRONG,
          LOST,
          REFUSED,
          LEDGER,
          BORNE,
          RECOVERY_MEDIAN,
          RECOVERY_99,
          RECOVERY_MAXIMUM,
          PAUSE_MEDIAN,
          PAUSE_99,
          PAUSE_MAXIMUM,
          OFFLINE_TRIED,
          OFFLINE_WRONG,
          OFFLINE_FAILED);

  /** Those of a table of so many faults of each kind. */
  static List<Column> of(int rounds) {
    return ALL.stream()
        .filter(
            column ->
                rounds >= LEAST_ROUNDS_FOR_99
                    || !(column.equals(RECOVERY_99) || column.equals(PAUSE_99)))
        .toList();
  }

  static final List<String> NOTES =
      List.of(
          "requests: over HTTP, of three models of which two fit the device, each answer compared byte by byte; one keeps state, and is asked sequences of eight steps",
          "with workers.switch=model or tenant (--set): one model is asked until the fault, and the next from then on, so that a standby takes over while the fault is got over",
          "a run that loses its worker is done once more, and again only where others were to blame; otherwise its request is answered with an error",
          "offline requests: of clients (--offline) that ask one offline model meanwhile, of the three others nothing",
          "faults are made one after another, each once both standbys were ready again and had run what models are asked; lost: no answer",
          "ledger exact: after how many of the faults the server's accounts added up: each page lent is one model's, each run has all of its pages",
          "borne: how often a worker that was given no more memory needed none for three seconds; it was replaced then, and is not in the times",
          "offline worker: the one that offline work has to itself (--set workers.offline=own); a time without a worker is told of the active one alone",
          "recovery: the slowest answer of all that were under way or came while a fault was got over",
          "a custom operator of the graph: the gate; on a GPU, a capture that is replayed has none, and the worker aborts between two of its segments",
          "p99: of ten faults of a kind and more",
          "\"no fault\": the same without one. Hangs, and kernels that never end, end by workers.hang-timeout: --hang-timeout",
          "recovery from a killed server: until the one started in its place gave its first answer",
          "without a worker: from the end of the active one's process to its successor's taking over");

  private FaultsColumns() {}
}
