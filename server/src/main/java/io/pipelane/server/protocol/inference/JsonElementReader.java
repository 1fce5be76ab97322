package io.pipelane.server.protocol.inference;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonParser.NumberType;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.protocol.Json;
import java.io.IOException;
import java.math.BigInteger;

/**
 * A reader that turns the JSON values of one tensor into little-endian elements, exactly or not at
 * all.
 *
 * <p>Integers never pass through floating point; a number with a fraction or an exponent is no
 * integer. FP32 is rounded once from its decimal digits, FP16 from FP32. What does not fit its type
 * is refused, overflow to infinity included; JSON has no NaN and no infinity.
 */
final class JsonElementReader {
  private final JsonParser parser;
  private final String input;
  private final TensorType type;
  private final ByteBuf target;
  private long count;

  /**
   * @param target grows as needed; elements are appended
   */
  JsonElementReader(JsonParser parser, String input, TensorType type, ByteBuf target) {
    this.parser = parser;
    this.input = input;
    this.type = type;
    this.target = target;
  }

  /** Elements read so far. */
  long count() {
    return count;
  }

  /** Appends the parser's current value. */
  void read(JsonToken token) throws IOException {
    switch (type) {
      case BOOL -> target.writeByte(bool(token));
      case UINT8 -> target.writeByte((int) integer(token, 0, 0xFF));
      case INT8 -> target.writeByte((int) integer(token, Byte.MIN_VALUE, Byte.MAX_VALUE));
      case UINT16 -> target.writeShortLE((int) integer(token, 0, 0xFFFF));
      case INT16 -> target.writeShortLE((int) integer(token, Short.MIN_VALUE, Short.MAX_VALUE));
      case UINT32 -> target.writeIntLE((int) integer(token, 0, 0xFFFF_FFFFL));
      case INT32 -> target.writeIntLE((int) integer(token, Integer.MIN_VALUE, Integer.MAX_VALUE));
      case INT64 -> target.writeLongLE(integer(token, Long.MIN_VALUE, Long.MAX_VALUE));
      case UINT64 -> target.writeLongLE(unsignedLong(token));
      case FP16 -> target.writeShortLE(half(token));
      case FP32 -> target.writeIntLE(Float.floatToRawIntBits(singlePrecision(token)));
      case FP64 -> target.writeLongLE(Double.doubleToRawLongBits(doublePrecision(token)));
      case BYTES -> string(token);
      case BF16 -> throw fault("BF16 has no JSON form; send the tensor with binary_data_size");
    }
    count++;
  }

  private int bool(JsonToken token) throws IOException {
    return switch (token) {
      case VALUE_TRUE -> 1;
      case VALUE_FALSE -> 0;
      default -> throw wrong("true or false");
    };
  }

  private long integer(JsonToken token, long minimum, long maximum) throws IOException {
    if (token != JsonToken.VALUE_NUMBER_INT) {
      throw wrong("an integer");
    }
    if (parser.getNumberType() != NumberType.BIG_INTEGER) {
      long value = parser.getLongValue();
      if (value >= minimum && value <= maximum) {
        return value;
      }
    }
    throw wrong("within " + minimum + " to " + maximum + " for " + type);
  }

  private long unsignedLong(JsonToken token) throws IOException {
    if (token != JsonToken.VALUE_NUMBER_INT) {
      throw wrong("an integer");
    }
    if (parser.getNumberType() != NumberType.BIG_INTEGER) {
      long value = parser.getLongValue();
      if (value >= 0) {
        return value;
      }
    } else {
      BigInteger value = parser.getBigIntegerValue();
      if (value.signum() >= 0 && value.bitLength() <= Long.SIZE) {
        return value.longValue();
      }
    }
    throw wrong("within 0 to " + Long.toUnsignedString(-1) + " for " + type);
  }

  private short half(JsonToken token) throws IOException {
    short value = Float.floatToFloat16(singlePrecision(token));
    if (!Float.isFinite(Float.float16ToFloat(value))) {
      throw wrong("within -65504 to 65504 for FP16");
    }
    return value;
  }

  private float singlePrecision(JsonToken token) throws IOException {
    checkNumber(token);
    float value = parser.getFloatValue();
    if (!Float.isFinite(value)) {
      throw wrong("within " + -Float.MAX_VALUE + " to " + Float.MAX_VALUE + " for " + type);
    }
    return value;
  }

  private double doublePrecision(JsonToken token) throws IOException {
    checkNumber(token);
    double value = parser.getDoubleValue();
    if (!Double.isFinite(value)) {
      throw wrong("within " + -Double.MAX_VALUE + " to " + Double.MAX_VALUE + " for FP64");
    }
    return value;
  }

  private void checkNumber(JsonToken token) throws IOException {
    if (token != JsonToken.VALUE_NUMBER_FLOAT && token != JsonToken.VALUE_NUMBER_INT) {
      throw wrong("a number");
    }
  }

  private void string(JsonToken token) throws IOException {
    if (token != JsonToken.VALUE_STRING) {
      throw wrong("a string");
    }
    String text = parser.getText();
    if (!isWellFormed(text)) {
      throw fault("a string has half of a surrogate pair; send the tensor with binary_data_size");
    }
    DirectMemory.makeRoom(target, Integer.BYTES + ByteBufUtil.utf8MaxBytes(text));
    int start = target.writerIndex();
    target.writeIntLE(0);
    target.setIntLE(start, ByteBufUtil.writeUtf8(target, text));
  }

  private static boolean isWellFormed(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (Character.isSurrogate(text.charAt(i))) {
        boolean pair =
            i + 1 < text.length() && Character.isSurrogatePair(text.charAt(i), text.charAt(i + 1));
        if (!pair) {
          return false;
        }
        i++;
      }
    }
    return true;
  }

  private StatusException wrong(String expected) throws IOException {
    return Json.wrong(parser, "input \"" + input + "\": data element " + count, expected);
  }

  private StatusException fault(String message) {
    return Json.invalid("input \"" + input + "\": data element " + count + ": " + message);
  }
}
