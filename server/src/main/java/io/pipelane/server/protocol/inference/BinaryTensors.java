package io.pipelane.server.protocol.inference;

import io.netty.buffer.ByteBuf;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.protocol.Json;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** The check of binary tensors where they lie, without copying them. */
public final class BinaryTensors {
  private static final long ANY_BUT_LOWEST_BIT_OF_EACH_BYTE = 0xFEFEFEFEFEFEFEFEL;

  private BinaryTensors() {}

  /** The readable bytes of a direct buffer as native memory; valid as long as the buffer. */
  static MemorySegment segment(ByteBuf buffer) {
    if (!buffer.isReadable()) {
      return MemorySegment.NULL;
    }
    int length = buffer.readableBytes();
    return buffer.hasMemoryAddress()
        ? MemorySegment.ofAddress(buffer.memoryAddress() + buffer.readerIndex()).reinterpret(length)
        : MemorySegment.ofBuffer(buffer.nioBuffer(buffer.readerIndex(), length));
  }

  /**
   * Checks that the bytes are exactly an input's elements.
   *
   * @param declared the input, of its type
   * @param sizeIs what error messages say before the number of its bytes
   * @throws StatusException when the number of bytes, the walk over BYTES elements or a BOOL's
   *     value does not fit
   */
  public static void check(TensorSpec declared, String sizeIs, Shape shape, MemorySegment bytes) {
    if (declared.type() == TensorType.BYTES) {
      checkStrings(declared, sizeIs, shape.elements(), bytes);
      return;
    }
    long expected = shape.elements() * declared.type().byteWidth();
    if (bytes.byteSize() != expected) {
      throw Json.invalid(
          "%s: %s %d, shape %s of %s needs %d"
              .formatted(
                  TensorShapes.label(declared),
                  sizeIs,
                  bytes.byteSize(),
                  shape,
                  declared.type(),
                  expected));
    }
    if (declared.type() == TensorType.BOOL) {
      checkBooleans(declared, bytes);
    }
  }

  private static void checkStrings(
      TensorSpec declared, String sizeIs, long elements, MemorySegment bytes) {
    long at = 0;
    for (long element = 0; element < elements; element++) {
      long left = bytes.byteSize() - at;
      if (left < Integer.BYTES) {
        throw Json.invalid(
            "%s: its %d binary bytes end before element %d of %d"
                .formatted(TensorShapes.label(declared), bytes.byteSize(), element, elements));
      }
      long length = Integer.toUnsignedLong(bytes.get(Wire.INT, at));
      if (length > left - Integer.BYTES) {
        throw Json.invalid(
            "%s: element %d says it has %d bytes, %d are left"
                .formatted(TensorShapes.label(declared), element, length, left - Integer.BYTES));
      }
      at += Integer.BYTES + length;
    }
    if (at != bytes.byteSize()) {
      throw Json.invalid(
          "%s: its %d elements take %d binary bytes, %s %d"
              .formatted(TensorShapes.label(declared), elements, at, sizeIs, bytes.byteSize()));
    }
  }

  private static void checkBooleans(TensorSpec declared, MemorySegment bytes) {
    long whole = bytes.byteSize() & -Long.BYTES;
    for (long at = 0; at < whole; at += Long.BYTES) {
      if ((bytes.get(Wire.LONG, at) & ANY_BUT_LOWEST_BIT_OF_EACH_BYTE) != 0) {
        throw notBoolean(declared, at, Long.BYTES);
      }
    }
    for (long at = whole; at < bytes.byteSize(); at++) {
      if ((bytes.get(ValueLayout.JAVA_BYTE, at) & 0xFE) != 0) {
        throw notBoolean(declared, at, 1);
      }
    }
  }

  private static StatusException notBoolean(TensorSpec declared, long at, int bytes) {
    return Json.invalid(
        "%s: a BOOL at bytes %d to %d is neither 0 nor 1"
            .formatted(TensorShapes.label(declared), at, at + bytes - 1));
  }

  /** Little-endian values of any alignment. */
  private static final class Wire {
    static final ValueLayout.OfInt INT =
        ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfLong LONG =
        ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  }
}
