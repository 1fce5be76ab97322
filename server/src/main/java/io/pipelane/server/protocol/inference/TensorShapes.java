package io.pipelane.server.protocol.inference;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.protocol.Json;

/** The check of a tensor's description against a model's declaration. */
public final class TensorShapes {
  private static final String UNSHAPED =
      "; where its file has no shape for the input, as its notes in the index then say, its owner"
          + " must give dims in config.pbtxt";

  /** What the other dimensions of an empty tensor come to at most, in elements. */
  private static final long MOST_OF_EMPTY = 1 << 24;

  private TensorShapes() {}

  /** What an input is called in error messages. */
  static String label(TensorSpec declared) {
    return "input \"" + declared.name() + '"';
  }

  /**
   * Checks type, rank, every dimension, the number of rows, and that the tensor's size can be
   * counted.
   *
   * @param model whose input it is
   * @param declared names the tensor in error messages
   * @throws StatusException when one of them does not fit
   */
  public static void check(ServedModel model, TensorSpec declared, TensorType type, Shape shape) {
    if (type != declared.type()) {
      throw Json.invalid(
          "%s: datatype is %s, the model declares %s"
              .formatted(label(declared), type, declared.type()));
    }
    if (shape.rank() != declared.shape().rank()) {
      throw Json.invalid(
          "%s: shape %s has rank %d, the model declares %s of rank %d%s"
              .formatted(
                  label(declared),
                  shape,
                  shape.rank(),
                  declared.shape(),
                  declared.shape().rank(),
                  declared.shape().rank() == 0 ? UNSHAPED : ""));
    }
    for (int axis = 0; axis < shape.rank(); axis++) {
      long wanted = declared.shape().dimension(axis);
      if (wanted >= 0 && wanted != shape.dimension(axis)) {
        throw Json.invalid(
            "%s: dimension %d of shape %s is %d, the model declares %s"
                .formatted(label(declared), axis, shape, shape.dimension(axis), declared.shape()));
      }
    }
    model.checkRows(declared, shape);
    try {
      Math.multiplyExact(shape.elements(), (long) Math.max(1, type.byteWidth()));
    } catch (ArithmeticException e) {
      throw Json.invalid(
          "%s: shape %s has more elements than 63 bits of bytes can hold"
              .formatted(label(declared), shape));
    }
    if (shape.elements() == 0) {
      checkEmpty(declared, shape);
    }
  }

  /** Operators count along the other dimensions too, of which no bytes vouch for any. */
  private static void checkEmpty(TensorSpec declared, Shape shape) {
    long rest = MOST_OF_EMPTY;
    for (int axis = 0; axis < shape.rank(); axis++) {
      rest /= Math.max(1, shape.dimension(axis));
    }
    if (rest == 0) {
      throw Json.invalid(
          "%s: shape %s is empty, its other dimensions come to more than %d elements"
              .formatted(label(declared), shape, MOST_OF_EMPTY));
    }
  }
}
