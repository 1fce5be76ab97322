package io.pipelane.loadgen.request;

import io.pipelane.loadgen.request.InputSettings.Values;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** The generator of tensors' elements in the protocol's binary form: row-major, little-endian. */
final class ElementGenerator {
  private final InputSettings settings;
  private final RandomGenerator random;
  private final byte @Nullable [] text;

  ElementGenerator(InputSettings settings, RandomGenerator random) {
    this.settings = settings;
    this.random = random;
    this.text = settings.strings().bytes();
  }

  /** Bytes that {@link #fill} writes for a number of elements. */
  long bytes(Datatype type, long elements) {
    return Math.multiplyExact(
        elements, (long) (type == Datatype.BYTES ? Integer.BYTES + stringBytes() : type.width()));
  }

  /** Writes elements; the buffer is little-endian. */
  void fill(ByteBuffer to, String name, Datatype type, long elements) {
    String lowerCase = name.toLowerCase(Locale.ROOT);
    boolean isMask = lowerCase.contains("mask");
    boolean isTokenType = lowerCase.contains("token_type") || lowerCase.contains("segment_id");
    for (long i = 0; i < elements; i++) {
      if (settings.values() == Values.ZERO || isTokenType) {
        write(to, type, 0, 0);
      } else if (isMask) {
        write(to, type, 1, 1);
      } else {
        write(to, type, integer(type), type.isFloating() ? random.nextGaussian() : 0);
      }
    }
  }

  private void write(ByteBuffer to, Datatype type, long integer, double real) {
    switch (type) {
      case BOOL -> to.put((byte) (integer & 1));
      case UINT8, INT8 -> to.put((byte) integer);
      case UINT16, INT16 -> to.putShort((short) integer);
      case UINT32, INT32 -> to.putInt((int) integer);
      case UINT64, INT64 -> to.putLong(integer);
      case FP16 -> to.putShort(Float.floatToFloat16((float) real));
      case BF16 -> to.putShort((short) (Float.floatToIntBits((float) real) >>> 16));
      case FP32 -> to.putFloat((float) real);
      case FP64 -> to.putDouble(real);
      case BYTES -> {
        int length = stringBytes();
        to.putInt(length);
        for (int i = 0; i < length; i++) {
          to.put(text == null ? (byte) ('a' + random.nextInt(26)) : text[i]);
        }
      }
    }
  }

  /** A random integer of the settings' range, as far as the type can hold it. */
  private long integer(Datatype type) {
    return switch (type) {
      case BOOL -> random.nextInt(2);
      case UINT8 -> integer(0, 0xFF);
      case UINT16 -> integer(0, 0xFFFF);
      case UINT32 -> integer(0, 0xFFFF_FFFFL);
      case UINT64 -> integer(0, Long.MAX_VALUE);
      case INT8 -> integer(Byte.MIN_VALUE, Byte.MAX_VALUE);
      case INT16 -> integer(Short.MIN_VALUE, Short.MAX_VALUE);
      case INT32 -> integer(Integer.MIN_VALUE, Integer.MAX_VALUE);
      case INT64 -> integer(Long.MIN_VALUE, Long.MAX_VALUE);
      case FP16, BF16, FP32, FP64, BYTES -> 0;
    };
  }

  private long integer(long typeMinimum, long typeMaximum) {
    long minimum = Math.clamp(settings.intMinimum(), typeMinimum, typeMaximum);
    long maximum = Math.clamp(settings.intMaximum(), typeMinimum, typeMaximum);
    return maximum == Long.MAX_VALUE
        ? Math.max(minimum, random.nextLong(minimum, maximum))
        : random.nextLong(minimum, maximum + 1);
  }

  private int stringBytes() {
    if (settings.values() == Values.ZERO) {
      return 0;
    }
    return text == null ? settings.strings().length() : text.length;
  }
}
