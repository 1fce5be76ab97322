package io.pipelane.loadgen.request;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * A tensor with its elements.
 *
 * @param data the protocol's binary form: row-major, little-endian, strings with their lengths
 */
record TensorValue(String name, Datatype type, List<Long> shape, ByteBuffer data) {
  TensorValue {
    shape = List.copyOf(shape);
  }

  /** The elements, to be read from their beginning. */
  @Override
  public ByteBuffer data() {
    return data.duplicate().order(data.order());
  }

  /** Elements of a shape. */
  static long elements(List<Long> shape) {
    return shape.stream().reduce(1L, Math::multiplyExact);
  }
}
