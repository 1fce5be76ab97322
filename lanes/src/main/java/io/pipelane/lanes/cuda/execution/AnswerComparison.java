package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.execution.HeldAnswer.Output;
import io.pipelane.runtime.RelativeError;
import java.util.Map;
import java.util.Optional;

/** The comparison of two answers to one request. */
final class AnswerComparison {
  /** The largest {@link RelativeError} of answers that count as equal on a GPU with TF32. */
  static final double TOLERANCE = 2e-3;

  private AnswerComparison() {}

  /** What differs, if anything does. */
  static Optional<String> difference(Map<String, Output> expected, Map<String, Output> actual) {
    for (Map.Entry<String, Output> entry : expected.entrySet()) {
      Output wanted = entry.getValue();
      Output found = actual.get(entry.getKey());
      if (found == null || !found.shape().equals(wanted.shape())) {
        return Optional.of("output \"%s\" has another shape".formatted(entry.getKey()));
      }
      double error = RelativeError.of(wanted.type(), wanted.data(), found.data());
      if (error > TOLERANCE) {
        return Optional.of("output \"%s\" is %.1e off".formatted(entry.getKey(), error));
      }
    }
    return Optional.empty();
  }
}
