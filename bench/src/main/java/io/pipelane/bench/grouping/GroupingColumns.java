package io.pipelane.bench.grouping;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench grouping}, measured and predicted. */
final class GroupingColumns {
  static final Column LAYERS = new Column("layers", "layers", 0);
  static final Column OURS_MILLIS = new Column("ours_ms", "ours ms", 2);
  static final Column PREFIX_MICROS = new Column("ours_prefix_us", "prefix us", 1);
  static final Column ALGORITHM_1 = new Column("algorithm_1_s", "alg. 1 s", 3);
  static final Column BOUND_ONLY = new Column("pruning_1_s", "pruning 1 s", 3);
  static final Column DELAY_ONLY = new Column("pruning_2_s", "pruning 2 s", 3);
  static final Column NO_PRUNING = new Column("no_pruning_s", "none s", 3);
  static final Column GROUPS = new Column("groups", "groups", 0);
  static final Column OPTIMAL = new Column("optimal_ms", "optimal", 3);
  static final Column SEARCHED = new Column("algorithm_1_ms", "alg. 1", 3);
  static final Column EQUAL_BYTES = new Column("equal_bytes_ms", "equal bytes", 3);
  static final Column ONE_GROUP = new Column("one_group_ms", "one group", 3);
  static final Column PER_LAYER = new Column("per_layer_ms", "per layer", 3);
  static final Column WARM = new Column("warm_ms", "warm", 3);

  static final List<Column> ALL =
      List.of(
          LAYERS,
          OURS_MILLIS,
          PREFIX_MICROS,
          ALGORITHM_1,
          BOUND_ONLY,
          DELAY_ONLY,
          NO_PRUNING,
          GROUPS,
          OPTIMAL,
          SEARCHED,
          EQUAL_BYTES,
          ONE_GROUP,
          PER_LAYER,
          WARM);

  static final String TITLE = "Choosing groups";

  private GroupingColumns() {}

  /** How to read the table. */
  static List<String> notes(RecordedPlans plans, double computation) {
    return List.of(
        "Plans: "
            + plans.device()
            + ". "
            + plans.how()
            + (computation == 1 ? "" : " Times of layers, times " + computation + "."),
        "Layers: all, those without weights too. A second row for each model is what runs: its"
            + " layers in at most 32 segments.",
        "ours: the time to solve a plan for every resident prefix at once; prefix: to choose the"
            + " groups of one prefix that ends inside a layer, then. Medians over rounds, after"
            + " warm-up.",
        "alg. 1: PipeSwitch's Algorithm 1 as printed (every call starts from groups of ten), with"
            + " both prunings, only the first (lower bound), only the second (j*), and none. A dash:"
            + " not done within the time limit.",
        "The paper has 1.33 s, 2.09 s, 3.44 h for ResNet-152, 0.18 s, 0.30 s, 5.07 s for Inception"
            + " v3, 0.34 s, 0.88 s, over 24 h for BERT-base; without pruning over 24 h each.",
        "optimal to warm: predicted milliseconds of a run with nothing resident, by the model of the"
            + " pipeline (copies in order, a wait for each group). alg. 1: what its search had found,"
            + " done or not. equal bytes: at most 32 groups, none under 1 MiB. per layer: a group for"
            + " each layer with weights.");
  }
}
