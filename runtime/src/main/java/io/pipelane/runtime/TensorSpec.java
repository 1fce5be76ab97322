package io.pipelane.runtime;

import java.util.List;

/**
 * A model's declaration of one input or output.
 *
 * @param shape -1 marks dimensions that a request chooses; for outputs the declaration can be wrong
 *     and the run's own shape counts
 * @param dimensionNames what the model calls its dimensions, one after another, empty for those
 *     without a name; none where it gives none of them a name
 */
public record TensorSpec(String name, TensorType type, Shape shape, List<String> dimensionNames) {
  public TensorSpec {
    dimensionNames = List.copyOf(dimensionNames);
    if (!dimensionNames.isEmpty() && dimensionNames.size() != shape.rank()) {
      throw new IllegalArgumentException(
          "%d names of the dimensions of %s".formatted(dimensionNames.size(), shape));
    }
  }

  /** A declaration that gives no dimension a name. */
  public TensorSpec(String name, TensorType type, Shape shape) {
    this(name, type, shape, List.of());
  }

  /** The same without what the model calls its dimensions, which no request depends on. */
  public TensorSpec unnamed() {
    return new TensorSpec(name, type, shape);
  }

  /** What the model calls a dimension; empty where it gives it no name. */
  public String dimensionName(int axis) {
    return dimensionNames.isEmpty() ? "" : dimensionNames.get(axis);
  }
}
