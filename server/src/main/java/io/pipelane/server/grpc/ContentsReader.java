package io.pipelane.server.grpc;

import com.google.protobuf.ByteString;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.protocol.grpc.InferTensorContents;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.util.function.IntFunction;

/**
 * A reader that turns typed contents into elements as they are on the wire elsewhere,
 * little-endian.
 */
final class ContentsReader {
  private final String label;
  private final TensorType type;
  private final InferTensorContents contents;

  private ContentsReader(String label, TensorType type, InferTensorContents contents) {
    this.label = label;
    this.type = type;
    this.contents = contents;
  }

  /**
   * Reads the list that belongs to the type; others must be empty.
   *
   * @param buffers makes an empty buffer for so many bytes
   * @throws StatusException when the list has not as many elements as the shape, or one that the
   *     type cannot hold
   */
  static ByteBuf read(
      String label,
      TensorType type,
      Shape shape,
      InferTensorContents contents,
      IntFunction<ByteBuf> buffers) {
    return new ContentsReader(label, type, contents).read(shape, buffers);
  }

  private ByteBuf read(Shape shape, IntFunction<ByteBuf> buffers) {
    int count = count();
    if (count != shape.elements()) {
      throw InferMessageReader.invalid(
          "%s has %d elements of %s in its contents, shape %s needs %d"
              .formatted(label, count, type, shape, shape.elements()));
    }
    if (count != countOfAll()) {
      throw InferMessageReader.invalid(
          "%s is %s and has contents of another type, too; leave those out".formatted(label, type));
    }
    ByteBuf target = buffers.apply(Math.toIntExact(byteSize(count)));
    for (int i = 0; i < count; i++) {
      write(target, i);
    }
    return target;
  }

  private int count() {
    return switch (type) {
      case BOOL -> contents.getBoolContentsCount();
      case INT8, INT16, INT32 -> contents.getIntContentsCount();
      case INT64 -> contents.getInt64ContentsCount();
      case UINT8, UINT16, UINT32 -> contents.getUintContentsCount();
      case UINT64 -> contents.getUint64ContentsCount();
      case FP32 -> contents.getFp32ContentsCount();
      case FP64 -> contents.getFp64ContentsCount();
      case BYTES -> contents.getBytesContentsCount();
      case FP16, BF16 ->
          throw InferMessageReader.invalid(
              label + ": " + type + " has no typed contents; send it in raw_input_contents");
    };
  }

  private long countOfAll() {
    return (long) contents.getBoolContentsCount()
        + contents.getIntContentsCount()
        + contents.getInt64ContentsCount()
        + contents.getUintContentsCount()
        + contents.getUint64ContentsCount()
        + contents.getFp32ContentsCount()
        + contents.getFp64ContentsCount()
        + contents.getBytesContentsCount();
  }

  private long byteSize(int count) {
    if (type != TensorType.BYTES) {
      long bytes = (long) count * type.byteWidth();
      if (bytes > Integer.MAX_VALUE) {
        throw new StatusException(
            Status.TOO_LARGE, label + " has " + bytes + " bytes, the limit is 2147483647");
      }
      return bytes;
    }
    long bytes = 0;
    for (ByteString element : contents.getBytesContentsList()) {
      bytes += Integer.BYTES + element.size();
    }
    return bytes;
  }

  private void write(ByteBuf target, int i) {
    switch (type) {
      case BOOL -> target.writeBoolean(contents.getBoolContents(i));
      case INT8 -> target.writeByte(signed(i, Byte.MIN_VALUE, Byte.MAX_VALUE));
      case INT16 -> target.writeShortLE(signed(i, Short.MIN_VALUE, Short.MAX_VALUE));
      case INT32 -> target.writeIntLE(contents.getIntContents(i));
      case INT64 -> target.writeLongLE(contents.getInt64Contents(i));
      case UINT8 -> target.writeByte(unsigned(i, 0xFF));
      case UINT16 -> target.writeShortLE(unsigned(i, 0xFFFF));
      case UINT32 -> target.writeIntLE(contents.getUintContents(i));
      case UINT64 -> target.writeLongLE(contents.getUint64Contents(i));
      case FP32 -> target.writeFloatLE(contents.getFp32Contents(i));
      case FP64 -> target.writeDoubleLE(contents.getFp64Contents(i));
      case BYTES -> {
        ByteString element = contents.getBytesContents(i);
        target.writeIntLE(element.size());
        target.writeBytes(element.asReadOnlyByteBuffer());
      }
      case FP16, BF16 -> throw new IllegalStateException(type + " was refused before");
    }
  }

  private int signed(int i, int least, int most) {
    int value = contents.getIntContents(i);
    if (value < least || value > most) {
      throw outOfRange(i, Integer.toString(value), least, most);
    }
    return value;
  }

  private int unsigned(int i, int most) {
    int value = contents.getUintContents(i);
    if (Integer.compareUnsigned(value, most) > 0) {
      throw outOfRange(i, Integer.toUnsignedString(value), 0, most);
    }
    return value;
  }

  private StatusException outOfRange(int i, String value, int least, int most) {
    return InferMessageReader.invalid(
        "%s: element %d is %s, %s lies within %d to %d"
            .formatted(label, i, value, type, least, most));
  }
}
