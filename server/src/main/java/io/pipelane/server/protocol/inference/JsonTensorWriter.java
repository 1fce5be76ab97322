package io.pipelane.server.protocol.inference;

import com.fasterxml.jackson.core.JsonGenerator;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.StatusException;
import io.pipelane.server.protocol.Json;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * The writer of a tensor's elements as a flat JSON array.
 *
 * <p>JSON has no NaN and no infinities: both are written as {@code null}, which every parser reads
 * and numpy turns into NaN. A client that must tell them apart asks for binary data.
 */
final class JsonTensorWriter {
  private JsonTensorWriter() {}

  /**
   * Writes the array.
   *
   * @throws StatusException when the tensor has no JSON form: BF16, and BYTES that are not UTF-8
   */
  static void write(JsonGenerator generator, OutputTensor tensor) throws IOException {
    ByteBuf data = tensor.data();
    int end = data.writerIndex();
    int width = tensor.type().byteWidth();
    generator.writeStartArray();
    if (width == 0) {
      writeStrings(generator, tensor);
    } else {
      for (int i = data.readerIndex(); i < end; i += width) {
        writeElement(generator, tensor, i);
      }
    }
    generator.writeEndArray();
  }

  private static void writeElement(JsonGenerator generator, OutputTensor tensor, int i)
      throws IOException {
    ByteBuf data = tensor.data();
    switch (tensor.type()) {
      case BOOL -> generator.writeBoolean(data.getByte(i) != 0);
      case UINT8 -> generator.writeNumber((int) data.getUnsignedByte(i));
      case INT8 -> generator.writeNumber((int) data.getByte(i));
      case UINT16 -> generator.writeNumber(data.getUnsignedShortLE(i));
      case INT16 -> generator.writeNumber((int) data.getShortLE(i));
      case UINT32 -> generator.writeNumber(data.getUnsignedIntLE(i));
      case INT32 -> generator.writeNumber(data.getIntLE(i));
      case INT64 -> generator.writeNumber(data.getLongLE(i));
      case UINT64 -> writeUnsigned(generator, data.getLongLE(i));
      case FP16 -> writeFloat(generator, Float.float16ToFloat(data.getShortLE(i)));
      case FP32 -> writeFloat(generator, Float.intBitsToFloat(data.getIntLE(i)));
      case FP64 -> writeDouble(generator, Double.longBitsToDouble(data.getLongLE(i)));
      case BF16 -> throw noJsonForm(tensor, "is BF16");
      case BYTES -> throw new AssertionError("strings have no width");
    }
  }

  private static void writeUnsigned(JsonGenerator generator, long value) throws IOException {
    if (value >= 0) {
      generator.writeNumber(value);
    } else {
      generator.writeNumber(Long.toUnsignedString(value));
    }
  }

  private static void writeFloat(JsonGenerator generator, float value) throws IOException {
    if (Float.isFinite(value)) {
      generator.writeNumber(value);
    } else {
      generator.writeNull();
    }
  }

  private static void writeDouble(JsonGenerator generator, double value) throws IOException {
    if (Double.isFinite(value)) {
      generator.writeNumber(value);
    } else {
      generator.writeNull();
    }
  }

  private static void writeStrings(JsonGenerator generator, OutputTensor tensor)
      throws IOException {
    ByteBuf data = tensor.data();
    int at = data.readerIndex();
    while (at < data.writerIndex()) {
      int length = data.getIntLE(at);
      ByteBuffer bytes = data.nioBuffer(at + Integer.BYTES, length);
      try {
        generator.writeString(StandardCharsets.UTF_8.newDecoder().decode(bytes).toString());
      } catch (CharacterCodingException e) {
        throw noJsonForm(tensor, "holds bytes that are not UTF-8");
      }
      at += Integer.BYTES + length;
    }
  }

  private static StatusException noJsonForm(OutputTensor tensor, String reason) {
    return Json.invalid(
        "output \""
            + tensor.name()
            + "\" "
            + reason
            + " and has no JSON form; ask for binary_data");
  }
}
