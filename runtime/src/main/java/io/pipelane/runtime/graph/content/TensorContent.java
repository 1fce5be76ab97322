package io.pipelane.runtime.graph.content;

import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.protobuf.ByteString;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The elements of a constant, row-major and little-endian, wherever the model keeps them. */
public sealed interface TensorContent {
  long byteSize();

  /** Writes every byte. */
  void writeTo(WritableByteChannel channel) throws IOException;

  /** Bytes that lie in the model, as such or as numbers of a protobuf. */
  record Inline(ByteString bytes) implements TensorContent {
    @Override
    public long byteSize() {
      return bytes.size();
    }

    @Override
    public void writeTo(WritableByteChannel channel) throws IOException {
      for (ByteBuffer part : bytes.asReadOnlyByteBufferList()) {
        while (part.hasRemaining()) {
          channel.write(part);
        }
      }
    }
  }

  /** Bytes that lie in another file. */
  record External(Path file, long offset, long byteSize) implements TensorContent {
    @Override
    public void writeTo(WritableByteChannel channel) throws IOException {
      try (FileChannel source = FileChannel.open(file, StandardOpenOption.READ)) {
        for (long done = 0; done < byteSize; ) {
          long moved = source.transferTo(offset + done, byteSize - done, channel);
          if (moved <= 0) {
            throw new IOException(file + " ended " + (byteSize - done) + " bytes early");
          }
          done += moved;
        }
      }
    }
  }

  /**
   * The content of a constant of one of the types of {@link TensorType}, BYTES excepted.
   *
   * @param folder what external data is relative to
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when its bytes do not fit its type and
   *     shape
   */
  static TensorContent of(TensorProto tensor, Path folder) {
    long expected = byteSize(tensor);
    TensorContent content =
        tensor.getDataLocation() == TensorProto.DataLocation.EXTERNAL
            ? ExternalData.of(tensor, folder).content()
            : new Inline(tensor.hasRawData() ? tensor.getRawData() : fromNumbers(tensor, expected));
    if (content.byteSize() != expected) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "constant \"%s\" has %d bytes, its type and shape need %d"
              .formatted(tensor.getName(), content.byteSize(), expected));
    }
    return content;
  }

  /** The bytes that type and shape of a constant need. */
  static long byteSize(TensorProto tensor) {
    try {
      int width = TensorType.ofOnnx(tensor.getDataType()).byteWidth();
      return Math.multiplyExact(shape(tensor).elements(), width);
    } catch (ArithmeticException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "constant \"%s\" has the impossible shape %s".formatted(tensor.getName(), shape(tensor)),
          e);
    }
  }

  static Shape shape(TensorProto tensor) {
    return Shape.of(tensor.getDimsList().stream().mapToLong(Long::longValue).toArray());
  }

  private static ByteString fromNumbers(TensorProto tensor, long expected) {
    TensorType type = TensorType.ofOnnx(tensor.getDataType());
    int count =
        switch (type) {
          case FP32 -> tensor.getFloatDataCount();
          case FP64 -> tensor.getDoubleDataCount();
          case INT64 -> tensor.getInt64DataCount();
          case UINT32, UINT64 -> tensor.getUint64DataCount();
          case UINT8, INT8, UINT16, INT16, INT32, BOOL, FP16, BF16 -> tensor.getInt32DataCount();
          case BYTES -> 0;
        };
    if ((long) count * type.byteWidth() != expected) {
      return ByteString.EMPTY;
    }
    ByteBuffer bytes = ByteBuffer.allocate((int) expected).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < count; i++) {
      switch (type) {
        case FP32 -> bytes.putFloat(tensor.getFloatData(i));
        case FP64 -> bytes.putDouble(tensor.getDoubleData(i));
        case INT64 -> bytes.putLong(tensor.getInt64Data(i));
        case UINT32 -> bytes.putInt((int) tensor.getUint64Data(i));
        case UINT64 -> bytes.putLong(tensor.getUint64Data(i));
        case INT32 -> bytes.putInt(tensor.getInt32Data(i));
        case UINT16, INT16, FP16, BF16 -> bytes.putShort((short) tensor.getInt32Data(i));
        case UINT8, INT8, BOOL -> bytes.put((byte) tensor.getInt32Data(i));
        case BYTES -> {}
      }
    }
    return ByteString.copyFrom(bytes.flip());
  }
}
