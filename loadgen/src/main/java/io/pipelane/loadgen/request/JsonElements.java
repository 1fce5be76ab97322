package io.pipelane.loadgen.request;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Conversions of tensors' binary form into the protocol's JSON data and back. */
final class JsonElements {
  private JsonElements() {}

  /** Writes elements, flat. */
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

  /**
   * Reads elements, flat or nested. What JSON has no number for may stand as {@code null}, which is
   * no number, and as {@code "NaN"}, {@code "Infinity"} and {@code "-Infinity"}.
   *
   * @throws IllegalArgumentException when there are other things than numbers, or strings for
   *     {@link Datatype#BYTES}
   */
  static ByteBuffer read(JsonNode data, Datatype type) {
    List<JsonNode> flat = new ArrayList<>();
    flatten(data, flat);
    int bytes = Math.multiplyExact(flat.size(), type.width());
    List<byte[]> texts = new ArrayList<>();
    if (type == Datatype.BYTES) {
      flat.forEach(element -> texts.add(element.asText().getBytes(StandardCharsets.UTF_8)));
      bytes = texts.stream().mapToInt(text -> Integer.BYTES + text.length).sum();
    }
    ByteBuffer to = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    texts.forEach(text -> to.putInt(text.length).put(text));
    if (type != Datatype.BYTES) {
      flat.forEach(element -> put(to, type, element));
    }
    return to.flip();
  }

  private static void flatten(JsonNode node, List<JsonNode> flat) {
    if (node.isArray()) {
      node.forEach(element -> flatten(element, flat));
    } else {
      flat.add(node);
    }
  }

  private static void put(ByteBuffer to, Datatype type, JsonNode element) {
    if (type.isFloating() && !element.isNumber()) {
      putReal(to, type, special(element));
      return;
    }
    if (!element.isNumber() && !element.isBoolean()) {
      throw new IllegalArgumentException(element + " is not a number");
    }
    switch (type) {
      case BOOL -> to.put((byte) (element.asBoolean() ? 1 : 0));
      case UINT8, INT8 -> to.put((byte) element.asInt());
      case UINT16, INT16 -> to.putShort((short) element.asInt());
      case UINT32, INT32 -> to.putInt((int) element.asLong());
      case UINT64, INT64 -> to.putLong(element.bigIntegerValue().longValue());
      case FP16, BF16, FP32, FP64 -> putReal(to, type, element.asDouble());
      case BYTES -> throw new IllegalArgumentException("strings are no numbers");
    }
  }

  private static void putReal(ByteBuffer to, Datatype type, double real) {
    switch (type) {
      case FP16 -> to.putShort(Float.floatToFloat16((float) real));
      case BF16 -> to.putShort((short) (Float.floatToIntBits((float) real) >>> 16));
      case FP32 -> to.putFloat((float) real);
      case FP64 -> to.putDouble(real);
      case BOOL, UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64, BYTES ->
          throw new IllegalArgumentException(type + " holds no real numbers");
    }
  }

  private static double special(JsonNode element) {
    return switch (element.isNull() ? "NaN" : element.asText()) {
      case "NaN" -> Double.NaN;
      case "Infinity" -> Double.POSITIVE_INFINITY;
      case "-Infinity" -> Double.NEGATIVE_INFINITY;
      default -> throw new IllegalArgumentException(element + " is not a number");
    };
  }
}
