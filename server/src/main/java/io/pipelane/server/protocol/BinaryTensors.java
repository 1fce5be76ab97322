package io.pipelane.server.protocol;

import io.netty.buffer.ByteBuf;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.protocol.InputReader.Input;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** The check of binary tensors where they lie, without copying them. */
public final class BinaryTensors {
  private static final long ANY_BUT_LOWEST_BIT_OF_EACH_BYTE = 0xFEFEFEFEFEFEFEFEL;

  private BinaryTensors() {}

  /** The readable bytes of a direct buffer as native memory; valid as long as the buffer. */
  static MemorySegment segment(ByteBuf buffer) {
    return buffer.isReadable()
        ? MemorySegment.ofBuffer(buffer.nioBuffer(buffer.readerIndex(), buffer.readableBytes()))
        : MemorySegment.NULL;
  }

  /**
   * Checks that the bytes are exactly the input's elements.
   *
   * @throws StatusException when the number of bytes, the walk over BYTES elements or a BOOL's
   *     value does not fit
   */
  static void check(Input input, MemorySegment bytes) {
    check(input, "binary_data_size is", bytes);
  }

  /** The same, with what error messages say before the number of its bytes. */
  static void check(Input input, String sizeIs, MemorySegment bytes) {
    String label = "input \"" + input.spec().name() + '"';
    check(label, sizeIs, input.spec().type(), input.shape(), input.elements(), bytes);
  }

  /**
   * The same.
   *
   * @param label what the tensor is called in error messages
   * @param sizeIs what they say before the number of its bytes
   * @param elements of the shape
   */
  public static void check(
      String label,
      String sizeIs,
      TensorType type,
      Shape shape,
      long elements,
      MemorySegment bytes) {
    if (type == TensorType.BYTES) {
      checkStrings(label, sizeIs, elements, bytes);
      return;
    }
    long expected = elements * type.byteWidth();
    if (bytes.byteSize() != expected) {
      throw Json.invalid(
          "%s: %s %d, shape %s of %s needs %d"
              .formatted(label, sizeIs, bytes.byteSize(), shape, type, expected));
    }
    if (type == TensorType.BOOL) {
      checkBooleans(label, bytes);
    }
  }

  private static void checkStrings(
      String label, String sizeIs, long elements, MemorySegment bytes) {
    long at = 0;
    for (long element = 0; element < elements; element++) {
      long left = bytes.byteSize() - at;
      if (left < Integer.BYTES) {
        throw Json.invalid(
            "%s: its %d binary bytes end before element %d of %d"
                .formatted(label, bytes.byteSize(), element, elements));
      }
      long length = Integer.toUnsignedLong(bytes.get(Wire.INT, at));
      if (length > left - Integer.BYTES) {
        throw Json.invalid(
            "%s: element %d says it has %d bytes, %d are left"
                .formatted(label, element, length, left - Integer.BYTES));
      }
      at += Integer.BYTES + length;
    }
    if (at != bytes.byteSize()) {
      throw Json.invalid(
          "%s: its %d elements take %d binary bytes, %s %d"
              .formatted(label, elements, at, sizeIs, bytes.byteSize()));
    }
  }

  private static void checkBooleans(String label, MemorySegment bytes) {
    long whole = bytes.byteSize() & -Long.BYTES;
    for (long at = 0; at < whole; at += Long.BYTES) {
      if ((bytes.get(Wire.LONG, at) & ANY_BUT_LOWEST_BIT_OF_EACH_BYTE) != 0) {
        throw notBoolean(label, at, Long.BYTES);
      }
    }
    for (long at = whole; at < bytes.byteSize(); at++) {
      if ((bytes.get(ValueLayout.JAVA_BYTE, at) & 0xFE) != 0) {
        throw notBoolean(label, at, 1);
      }
    }
  }

  private static StatusException notBoolean(String label, long at, int bytes) {
    return Json.invalid(
        label + ": a BOOL at bytes " + at + " to " + (at + bytes - 1) + " is neither 0 nor 1");
  }

  /** Little-endian values of any alignment. */
  private static final class Wire {
    static final ValueLayout.OfInt INT =
        ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfLong LONG =
        ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  }
}
