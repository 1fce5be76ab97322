package io.pipelane.loadgen.request;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Writes a tensor's binary form as the protocol's JSON data, flat. */
final class JsonElements {
  private JsonElements() {}

  static void write(JsonGenerator json, Datatype type, ByteBuffer elements) throws IOException {
    json.writeStartArray();
    while (elements.hasRemaining()) {
      switch (type) {
        case BOOL -> json.writeBoolean(elements.get() != 0);
        case UINT8 -> json.writeNumber(Byte.toUnsignedInt(elements.get()));
        case INT8 -> json.writeNumber(elements.get());
        case UINT16 -> json.writeNumber(Short.toUnsignedInt(elements.getShort()));
        case INT16 -> json.writeNumber(elements.getShort());
        case UINT32 -> json.writeNumber(Integer.toUnsignedLong(elements.getInt()));
        case INT32 -> json.writeNumber(elements.getInt());
        case UINT64 -> json.writeNumber(new BigInteger(Long.toUnsignedString(elements.getLong())));
        case INT64 -> json.writeNumber(elements.getLong());
        case FP16 -> json.writeNumber(Float.float16ToFloat(elements.getShort()));
        case BF16 -> json.writeNumber(Float.intBitsToFloat(elements.getShort() << 16));
        case FP32 -> json.writeNumber(elements.getFloat());
        case FP64 -> json.writeNumber(elements.getDouble());
        case BYTES -> {
          byte[] text = new byte[elements.getInt()];
          elements.get(text);
          json.writeString(new String(text, StandardCharsets.UTF_8));
        }
      }
    }
    json.writeEndArray();
  }
}
