package io.pipelane.modelstore.importing;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.Padding;
import io.pipelane.modelstore.Padding.Verdict;
import io.pipelane.runtime.OrtEnvironment;
import io.pipelane.runtime.OrtSession;
import io.pipelane.runtime.TensorSpec;
import java.lang.foreign.Arena;
import java.util.List;

/** The check whether a batch may be filled up by repeating its last row. */
final class PaddingCheck {
  /** Rows that are not all alike: repeating the last of them moves a mean over the batch. */
  private static final int ROWS = 3;

  private static final int PADDED_ROWS = 4;

  private PaddingCheck() {}

  /**
   * Compares rows' answers with theirs in a padded batch.
   *
   * @param openDimension stands in for open dimensions other than the first
   * @param tolerance the relative error up to which answers are equal
   */
  static Padding of(
      OrtEnvironment environment, OrtSession session, long openDimension, double tolerance) {
    List<TensorSpec> inputs = session.inputs();
    for (TensorSpec input : inputs) {
      if (input.shape().rank() == 0 || input.shape().dimension(0) >= 0) {
        return Padding.notApplicable(
            "input \"%s\" %s has no open first dimension".formatted(input.name(), input.shape()));
      }
    }
    if (inputs.isEmpty()) {
      return Padding.notApplicable("the model has no inputs");
    }
    try (Arena arena = Arena.ofConfined()) {
      MadeUpInputs madeUp = new MadeUpInputs(environment, arena);
      Outputs alone =
          Outputs.of(session, madeUp.rows(inputs, ROWS, ROWS, openDimension), gate -> {});
      Outputs padded =
          Outputs.of(session, madeUp.rows(inputs, ROWS, PADDED_ROWS, openDimension), gate -> {});
      return compared(session.outputs(), alone, padded, tolerance);
    } catch (StatusException e) {
      MachineFault.rethrow(e);
      return Padding.notApplicable(String.valueOf(e.getMessage()));
    }
  }

  private static Padding compared(
      List<TensorSpec> specs, Outputs alone, Outputs padded, double tolerance) {
    double worst = 0;
    for (int i = 0; i < specs.size(); i++) {
      Outputs.Output expected = alone.list().get(i);
      Outputs.Output actual = padded.list().get(i);
      if (!expected.hasRows(ROWS) || !actual.hasRows(PADDED_ROWS)) {
        return Padding.notApplicable(
            "output \"%s\" has no row for each row of the inputs: %s for %d, %s for %d"
                .formatted(
                    specs.get(i).name(), expected.shape(), ROWS, actual.shape(), PADDED_ROWS));
      }
      worst =
          Math.max(worst, Outputs.difference(expected.type(), expected.data(), actual.rows(ROWS)));
    }
    return new Padding(
        worst <= tolerance ? Verdict.HARMLESS : Verdict.CHANGES_ANSWERS,
        "relative error %.1e".formatted(worst));
  }
}
