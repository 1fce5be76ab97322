package io.pipelane.lanes.process.channel;

import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.util.ArrayList;
import java.util.List;

/**
 * A tensor in a lane's region.
 *
 * @param index of the model's inputs or outputs, in the order of its plan
 * @param offset from the region's beginning
 * @param byteSize what its elements take; strings each as 32-bit little-endian length and bytes
 */
public record PlacedTensor(int index, TensorType type, Shape shape, long offset, long byteSize) {
  private static final int MAXIMUM_TENSORS = 1 << 12;
  private static final int MAXIMUM_RANK = 64;

  static void write(MessageWriter message, List<PlacedTensor> tensors) {
    message.number(tensors.size());
    tensors.forEach(tensor -> tensor.write(message));
  }

  void write(MessageWriter message) {
    message.number(index).number(type.onnx()).number(shape.rank());
    for (int axis = 0; axis < shape.rank(); axis++) {
      message.number(shape.dimension(axis));
    }
    message.number(offset).number(byteSize);
  }

  static List<PlacedTensor> read(MessageReader message) {
    int count = message.count(MAXIMUM_TENSORS);
    List<PlacedTensor> tensors = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      tensors.add(readOne(message));
    }
    return tensors;
  }

  static PlacedTensor readOne(MessageReader message) {
    int index = message.count(MAXIMUM_TENSORS);
    TensorType type = type(message.integer());
    long[] dimensions = new long[message.count(MAXIMUM_RANK)];
    for (int axis = 0; axis < dimensions.length; axis++) {
      dimensions[axis] = message.size();
    }
    Shape shape = Shape.of(dimensions);
    PlacedTensor tensor = new PlacedTensor(index, type, shape, message.size(), message.size());
    tensor.check();
    return tensor;
  }

  private static TensorType type(int onnx) {
    try {
      return TensorType.ofOnnx(onnx);
    } catch (StatusException e) {
      throw new ProtocolException("element type " + onnx);
    }
  }

  /** Checks that shape and size agree. */
  private void check() {
    try {
      long expected = Math.multiplyExact(shape.elements(), (long) type.byteWidth());
      if (!isString() && byteSize != expected) {
        throw new ProtocolException("%d bytes for %s %s".formatted(byteSize, type, shape));
      }
    } catch (ArithmeticException e) {
      throw new ProtocolException("a tensor of shape " + shape);
    }
  }

  /** The same in another place. */
  public PlacedTensor at(long place) {
    return new PlacedTensor(index, type, shape, place, byteSize);
  }

  public boolean isString() {
    return type == TensorType.BYTES;
  }

  /** Checks that the tensor lies in the first bytes of a region. */
  public void requireWithin(long bytes) {
    if (offset > bytes || byteSize > bytes - offset) {
      throw new ProtocolException(
          "a tensor of %d bytes at %d, beyond %d".formatted(byteSize, offset, bytes));
    }
  }
}
