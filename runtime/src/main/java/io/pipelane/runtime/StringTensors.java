package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout.OfInt;
import java.nio.ByteOrder;

/**
 * Conversions of the protocol's encoding of strings (a 32-bit little-endian length and the bytes,
 * per element) into tensors of strings, whose memory ONNX Runtime owns, and back.
 */
public final class StringTensors {
  private static final OfInt LENGTH = JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private StringTensors() {}

  /**
   * A tensor of the strings in {@code encoded}, which holds exactly {@code shape.elements()}.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when a length leaves what is encoded
   */
  public static OrtTensor decode(OrtEnvironment environment, MemorySegment encoded, Shape shape) {
    OrtApi api = environment.api();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment dimensions = arena.allocateFrom(JAVA_LONG, padded(shape));
      MemorySegment out = arena.allocate(JAVA_LONG);
      api.call(
          OrtApi.CREATE_TENSOR_AS_VALUE,
          environment.defaultAllocator(),
          dimensions.address(),
          shape.rank(),
          TensorType.BYTES.onnx(),
          out.address());
      OrtTensor tensor = OrtTensor.owning(environment, out.get(JAVA_LONG, 0));
      try {
        fill(tensor, encoded, shape.elements(), out);
        return tensor;
      } catch (RuntimeException e) {
        tensor.close();
        throw e;
      }
    }
  }

  /**
   * Copies each string into the buffer that its element has for it, which unlike a terminated
   * string may hold zero bytes.
   */
  private static void fill(
      OrtTensor tensor, MemorySegment encoded, long elements, MemorySegment out) {
    OrtApi api = tensor.environment().api();
    long position = 0;
    for (long i = 0; i < elements; i++) {
      long left = encoded.byteSize() - position - Integer.BYTES;
      int length = left < 0 ? -1 : encoded.get(LENGTH, position);
      if (length < 0 || length > left) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "string %d of %d leaves the %d bytes that hold them all"
                .formatted(i, elements, encoded.byteSize()));
      }
      position += Integer.BYTES;
      api.call(
          OrtApi.GET_RESIZED_STRING_TENSOR_ELEMENT_BUFFER,
          tensor.address(),
          i,
          length,
          out.address());
      MemorySegment buffer = MemorySegment.ofAddress(out.get(JAVA_LONG, 0)).reinterpret(length);
      MemorySegment.copy(encoded, position, buffer, 0, length);
      position += length;
    }
  }

  /** Bytes that {@link #encode} will write. */
  public static long encodedSize(OrtTensor tensor) {
    OrtApi api = tensor.environment().api();
    return api.get(OrtApi.GET_STRING_TENSOR_DATA_LENGTH, tensor.address())
        + Integer.BYTES * tensor.shape().elements();
  }

  /** Writes a tensor of strings in the protocol's encoding. */
  public static void encode(OrtTensor tensor, MemorySegment target) {
    OrtApi api = tensor.environment().api();
    long elements = tensor.shape().elements();
    long bytes = api.get(OrtApi.GET_STRING_TENSOR_DATA_LENGTH, tensor.address());
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment content = arena.allocate(Math.max(1, bytes));
      MemorySegment offsets = arena.allocate(JAVA_LONG, Math.max(1, elements));
      if (elements > 0) {
        api.call(
            OrtApi.GET_STRING_TENSOR_CONTENT,
            tensor.address(),
            content.address(),
            bytes,
            offsets.address(),
            elements);
      }
      long position = 0;
      for (long i = 0; i < elements; i++) {
        long begin = offsets.getAtIndex(JAVA_LONG, i);
        long end = i + 1 < elements ? offsets.getAtIndex(JAVA_LONG, i + 1) : bytes;
        target.set(LENGTH, position, (int) (end - begin));
        MemorySegment.copy(content, begin, target, position + Integer.BYTES, end - begin);
        position += Integer.BYTES + end - begin;
      }
    }
  }

  private static long[] padded(Shape shape) {
    return shape.rank() == 0 ? new long[1] : shape.toArray();
  }
}
