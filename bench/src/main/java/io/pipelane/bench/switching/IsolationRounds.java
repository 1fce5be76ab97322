package io.pipelane.bench.switching;

import io.pipelane.bench.accelerator.Accelerator;
import io.pipelane.bench.local.LocalCaller;
import io.pipelane.bench.measure.Run;
import io.pipelane.bench.measure.Samples;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.WeightSource;
import io.pipelane.switcher.grouping.PipelineCosts;
import java.util.List;
import java.util.Objects;

/**
 * The measurement of what a model's requests take in the server's process and in a worker process,
 * warm and cold, in turn.
 */
final class IsolationRounds {
  private static final double P99 = 0.99;

  private final Accelerator accelerator;
  private final PipelineCosts costs;
  private final ImportedModel model;
  private final WeightSource weights;
  private final List<Tensor> inputs;
  private final int warmup;
  private final int iterations;
  private final Measured measured;

  /**
   * Measures nothing yet.
   *
   * @param costs of transfers on the accelerator
   * @param model imported as worker processes can run it
   * @param weights where the accelerator copies them from
   */
  IsolationRounds(
      Accelerator accelerator,
      PipelineCosts costs,
      ImportedModel model,
      WeightSource weights,
      List<Tensor> inputs,
      int warmup,
      int iterations,
      Measured measured) {
    this.accelerator = accelerator;
    this.costs = costs;
    this.model = model;
    this.weights = weights;
    this.inputs = inputs;
    this.warmup = warmup;
    this.iterations = iterations;
    this.measured = measured;
  }

  /** The name of the figure of what a worker process adds, at a quantile of each. */
  static String added(String what, String quantile) {
    return "isolation_added_" + what + "_" + quantile + "_ms";
  }

  /** All of it. */
  void measure() throws Exception {
    try (Accelerator shared = accelerator.inWorkers();
        Stage here = new Stage(accelerator, costs, true);
        Stage there = new Stage(shared, costs, true)) {
      here.register(model, weights);
      there.register(model, weights);
      LocalCaller inThread = here.caller(model, inputs);
      LocalCaller inProcess = there.caller(model, inputs);
      Contestant.measure(
          List.of(
              new Contestant(Row.THREAD_WARM, warm(here), inThread),
              new Contestant(Row.PROCESS_WARM, warm(there), inProcess),
              new Contestant(Row.THREAD_COLD, cold(here), inThread),
              new Contestant(Row.PROCESS_COLD, cold(there), inProcess)),
          warmup,
          iterations,
          measured);
      for (int turn = -warmup; turn < iterations; turn++) {
        Contestant.measureRunAlone(inThread, Row.THREAD_RUN, turn, measured);
        Contestant.measureRunAlone(inProcess, Row.PROCESS_RUN, turn, measured);
      }
      requireSameAnswers(inThread, inProcess);
    }
    note(SwitchTables.WARM, Row.THREAD_WARM, Row.PROCESS_WARM);
    note(SwitchTables.COLD, Row.THREAD_COLD, Row.PROCESS_COLD);
    note(SwitchTables.RUN, Row.THREAD_RUN, Row.PROCESS_RUN);
  }

  private Run warm(Stage stage) {
    return () -> stage.warmUp(model.version());
  }

  private static Run cold(Stage stage) {
    return () -> stage.evictAll(Stage.GROUPS);
  }

  private void note(String what, Row thread, Row process) {
    Samples before = measured.of(thread);
    Samples after = measured.of(process);
    measured.fact(added(what, "p50"), after.median() - before.median());
    measured.fact(added(what, "p99"), after.quantile(P99) - before.quantile(P99));
  }

  private static void requireSameAnswers(LocalCaller one, LocalCaller other) {
    one.outputs()
        .forEach(
            (name, answer) -> {
              if (answer.mismatch(Objects.requireNonNull(other.outputs().get(name))) >= 0) {
                throw new IllegalStateException("output " + name + " differs between processes");
              }
            });
  }
}
