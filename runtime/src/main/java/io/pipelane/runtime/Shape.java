package io.pipelane.runtime;

import java.util.Arrays;
import java.util.stream.Collectors;

/** The dimensions of a tensor, row-major; -1 stands for a dimension that a model leaves open. */
public final class Shape {
  public static final Shape SCALAR = new Shape(new long[0]);

  private final long[] dimensions;

  private Shape(long[] dimensions) {
    this.dimensions = dimensions;
  }

  public static Shape of(long... dimensions) {
    return dimensions.length == 0 ? SCALAR : new Shape(dimensions.clone());
  }

  public int rank() {
    return dimensions.length;
  }

  public long dimension(int axis) {
    return dimensions[axis];
  }

  public long[] toArray() {
    return dimensions.clone();
  }

  /** Whether every dimension is known. */
  public boolean isConcrete() {
    return Arrays.stream(dimensions).allMatch(d -> d >= 0);
  }

  /**
   * The number of elements of a concrete shape.
   *
   * @throws ArithmeticException when the product does not fit 63 bits or a dimension is open
   */
  public long elements() {
    long product = 1;
    for (long dimension : dimensions) {
      if (dimension < 0) {
        throw new ArithmeticException("open dimension in " + this);
      }
      product = Math.multiplyExact(product, dimension);
    }
    return product;
  }

  /** Whether a concrete shape has this shape's rank and equals it in every dimension not open. */
  public boolean admits(Shape concrete) {
    if (concrete.rank() != rank()) {
      return false;
    }
    for (int i = 0; i < dimensions.length; i++) {
      if (dimensions[i] >= 0 && dimensions[i] != concrete.dimensions[i]) {
        return false;
      }
    }
    return true;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Shape shape && Arrays.equals(dimensions, shape.dimensions);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(dimensions);
  }

  @Override
  public String toString() {
    return Arrays.stream(dimensions)
        .mapToObj(Long::toString)
        .collect(Collectors.joining(",", "[", "]"));
  }
}
