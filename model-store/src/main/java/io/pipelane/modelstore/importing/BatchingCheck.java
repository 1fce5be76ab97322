package io.pipelane.modelstore.importing;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.Batching;
import io.pipelane.modelstore.Batching.Verdict;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.TensorSpec;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/** The check whether rows are answered the same alone and together. */
final class BatchingCheck {
  /** Enough for kernels that take several rows at a time, and some that are left over. */
  private static final int ROWS = 5;

  private BatchingCheck() {}

  /**
   * Compares the answers of rows that differ in size, each alone, with theirs in one batch.
   *
   * @param openDimension stands in for open dimensions other than the first
   * @param tolerance the relative error of a row up to which answers are equal
   */
  static Batching of(
      OrtEnvironment environment, OrtSession session, long openDimension, double tolerance) {
    List<TensorSpec> inputs = session.inputs();
    for (TensorSpec input : inputs) {
      if (input.shape().rank() == 0 || input.shape().dimension(0) >= 0) {
        return Batching.notApplicable(
            "input \"%s\" %s has no open first dimension".formatted(input.name(), input.shape()));
      }
    }
    if (inputs.isEmpty()) {
      return Batching.notApplicable("the model has no inputs");
    }
    try (Arena arena = Arena.ofConfined()) {
      MadeUpInputs madeUp = new MadeUpInputs(environment, arena);
      Outputs together = Outputs.of(session, madeUp.batch(inputs, ROWS, openDimension), gate -> {});
      List<Outputs> alone = new ArrayList<>();
      for (int row = 0; row < ROWS; row++) {
        alone.add(Outputs.of(session, madeUp.rowOf(inputs, ROWS, row, openDimension), gate -> {}));
      }
      return compared(session.outputs(), alone, together, tolerance);
    } catch (StatusException e) {
      MachineFault.rethrow(e);
      return Batching.notApplicable(String.valueOf(e.getMessage()));
    }
  }

  private static Batching compared(
      List<TensorSpec> specs, List<Outputs> alone, Outputs together, double tolerance) {
    double worst = 0;
    for (int i = 0; i < specs.size(); i++) {
      Outputs.Output batch = together.list().get(i);
      for (int row = 0; row < ROWS; row++) {
        Outputs.Output single = alone.get(row).list().get(i);
        if (!batch.hasRows(ROWS) || !single.hasRows(1)) {
          return Batching.notApplicable(
              "output \"%s\" has no row for each row of the inputs: %s for %d, %s for one"
                  .formatted(specs.get(i).name(), batch.shape(), ROWS, single.shape()));
        }
        worst = Math.max(worst, Outputs.difference(single.type(), single.data(), batch.row(row)));
      }
    }
    return new Batching(
        worst <= tolerance ? Verdict.AGREES : Verdict.CHANGES_ANSWERS,
        worst == 0 ? "answers are bitwise equal" : "relative error %.1e".formatted(worst));
  }
}
