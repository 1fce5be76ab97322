package io.pipelane.switcher.sequence;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * An input that is state.
 *
 * @param begins its shape in front of the first step; -1 stands for a request's rows
 */
record KeptInput(TensorSpec spec, Shape begins) {
  private static final long ROWS = StateInput.ROWS;

  /**
   * An input as its owner says that it begins, or else as its model's declaration shows.
   *
   * @param output what it becomes
   * @param said by the owner; may be empty
   * @param rowsOf the input whose first dimension is a request's rows; empty where none has any
   */
  static KeptInput of(
      TensorSpec input, TensorSpec output, List<Long> said, Optional<TensorSpec> rowsOf) {
    if (said.isEmpty()) {
      return new KeptInput(input, declared(input, output, rowsOf));
    }
    Shape begins = Shape.of(said.stream().mapToLong(size -> size).toArray());
    if (!input.shape().admits(begins)) {
      throw StatePairs.refused(
          "input \"%s\" begins as %s, and the model declares %s"
              .formatted(input.name(), text(begins.toArray()), input.shape()));
    }
    return new KeptInput(input, begins);
  }

  private static Shape declared(TensorSpec input, TensorSpec output, Optional<TensorSpec> rowsOf) {
    long[] sizes = input.shape().toArray();
    boolean rowsAreOpen = rowsOf.isPresent() && rowsOf.get().shape().dimension(0) < 0;
    boolean isFirst = true;
    for (int axis = 0; axis < sizes.length; axis++) {
      if (sizes[axis] >= 0) {
        continue;
      }
      boolean areRows = bearsTheNameOfRows(input, axis, rowsOf);
      if (!areRows && isFirst && rowsAreOpen && numberOf(output, input, axis) >= 0) {
        throw contradictory(input, output, axis, sizes);
      }
      if (areRows) {
        sizes[axis] = ROWS;
      } else if (grows(input, output, axis)) {
        if (isFirst && rowsAreOpen && !namesRows(input, rowsOf)) {
          // Exporters give each dimension a name of its own, the rows of a recurrent state as well.
          throw unclear(input, output, axis, sizes, ROWS);
        }
        sizes[axis] = 0;
      } else if (isFirst && rowsAreOpen) {
        sizes[axis] = ROWS;
      } else {
        throw unclear(input, output, axis, sizes, 0);
      }
      isFirst = false;
    }
    return Shape.of(sizes);
  }

  private static boolean namesRows(TensorSpec input, Optional<TensorSpec> rowsOf) {
    for (int axis = 0; axis < input.shape().rank(); axis++) {
      if (bearsTheNameOfRows(input, axis, rowsOf)) {
        return true;
      }
    }
    return false;
  }

  private static boolean bearsTheNameOfRows(
      TensorSpec input, int axis, Optional<TensorSpec> rowsOf) {
    String name = input.dimensionName(axis);
    return !name.isEmpty()
        && rowsOf.map(spec -> spec.dimensionName(0)).filter(name::equals).isPresent();
  }

  /** Whether a dimension has another name once a step has been made. */
  private static boolean grows(TensorSpec input, TensorSpec output, int axis) {
    String before = input.dimensionName(axis);
    String after = output.shape().rank() == input.shape().rank() ? output.dimensionName(axis) : "";
    return !before.isEmpty() && !after.isEmpty() && !before.equals(after);
  }

  /** What a dimension is once a step has been made; negative where the model leaves that open. */
  private static long numberOf(TensorSpec output, TensorSpec input, int axis) {
    return output.shape().rank() == input.shape().rank() ? output.shape().dimension(axis) : -1;
  }

  private static StatusException unclear(
      TensorSpec input, TensorSpec output, int axis, long[] sizes, long likely) {
    return toBeSaid(
        input, output, axis, sizes, likely, "is open, and no name tells what it begins as");
  }

  /** Exporters leave the numbers of an example in outputs that they are told nothing of. */
  private static StatusException contradictory(
      TensorSpec input, TensorSpec output, int axis, long[] sizes) {
    return toBeSaid(
        input,
        output,
        axis,
        sizes,
        output.shape().dimension(axis),
        "would begin as a request's rows, and output \"%s\" %s has a number there"
            .formatted(output.name(), output.shape()));
  }

  private static StatusException toBeSaid(
      TensorSpec input, TensorSpec output, int axis, long[] sizes, long likely, String reason) {
    long[] example = sizes.clone();
    for (int i = axis; i < example.length; i++) {
      example[i] = Math.max(0, example[i]);
    }
    example[axis] = likely;
    return StatePairs.refused(
        "dimension %d of input \"%s\" %s %s; write \"%s: {input: %s, begins: %s}\", with 0 for what grows from nothing, rows for a request's rows, or another size"
            .formatted(
                axis,
                input.name(),
                input.shape(),
                reason,
                output.name(),
                input.name(),
                text(example)));
  }

  private static String text(long[] sizes) {
    return Arrays.stream(sizes)
        .mapToObj(size -> size == ROWS ? "rows" : Long.toString(size))
        .collect(Collectors.joining(", ", "[", "]"));
  }

  /** The shape that it begins with, with a request of so many rows. */
  Shape begins(long rows) {
    return Shape.of(
        Arrays.stream(begins.toArray()).map(size -> size == ROWS ? rows : size).toArray());
  }
}
