package io.pipelane.demo.protocol;

import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A named tensor of fixed-width elements.
 *
 * @param shape concrete
 * @param data row-major little-endian elements; every call returns a view of its own, from position
 *     0, that must not be written to
 */
public record Tensor(String name, TensorType type, Shape shape, ByteBuffer data) {
  public Tensor {
    data = data.slice();
    long expected = Math.multiplyExact(shape.elements(), type.byteWidth());
    if (data.remaining() != expected) {
      throw new IllegalArgumentException(
          "tensor %s: %s%s takes %d bytes, got %d"
              .formatted(name, type, shape, expected, data.remaining()));
    }
  }

  /** An FP32 tensor. */
  public static Tensor of(String name, float[] values, long... shape) {
    ByteBuffer data = allocate(values.length * Float.BYTES);
    data.asFloatBuffer().put(values);
    return new Tensor(name, TensorType.FP32, Shape.of(shape), data);
  }

  /** An INT64 tensor. */
  public static Tensor of(String name, long[] values, long... shape) {
    ByteBuffer data = allocate(values.length * Long.BYTES);
    data.asLongBuffer().put(values);
    return new Tensor(name, TensorType.INT64, Shape.of(shape), data);
  }

  @Override
  public ByteBuffer data() {
    return data.duplicate().order(ByteOrder.LITTLE_ENDIAN);
  }

  /** A copy of the elements of an FP32 tensor. */
  public float[] floats() {
    require(TensorType.FP32);
    float[] values = new float[data.capacity() / Float.BYTES];
    data().asFloatBuffer().get(values);
    return values;
  }

  /** A copy of the elements of an INT64 tensor. */
  public long[] longs() {
    require(TensorType.INT64);
    long[] values = new long[data.capacity() / Long.BYTES];
    data().asLongBuffer().get(values);
    return values;
  }

  private void require(TensorType wanted) {
    if (type != wanted) {
      throw new IllegalStateException("tensor " + name + " is " + type + ", not " + wanted);
    }
  }

  private static ByteBuffer allocate(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
