package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;

/**
 * The relative error between two tensors of one shape, ‖a − b‖ / ‖a‖; of bfloat16 what it would be
 * of FP16, so that one tolerance serves all types.
 */
public final class RelativeError {
  /** A bfloat16 has 8 bits of its number where an FP16 has 11, so it is off by so much more. */
  private static final double COARSER_THAN_FP16 = 8;

  private RelativeError() {}

  /**
   * The error; 0 when all bytes are equal, infinite for types that have to be equal and are not.
   * NaN equals NaN.
   *
   * @param expected as many bytes as {@code actual}
   */
  public static double of(TensorType type, MemorySegment expected, MemorySegment actual) {
    if (expected.mismatch(actual) < 0) {
      return 0;
    }
    if (!isFloat(type)) {
      return Double.POSITIVE_INFINITY;
    }
    double difference = 0;
    double size = 0;
    for (long at = 0; at < expected.byteSize(); at += type.byteWidth()) {
      double a = number(type, expected, at);
      double b = number(type, actual, at);
      if (Double.compare(a, b) != 0) {
        difference += (a - b) * (a - b);
      }
      size += Double.isFinite(a) ? a * a : 0;
    }
    double error = Math.sqrt(difference / Math.max(size, Double.MIN_NORMAL));
    if (Double.isNaN(error)) {
      return Double.POSITIVE_INFINITY;
    }
    return type == TensorType.BF16 ? error / COARSER_THAN_FP16 : error;
  }

  /** Whether tensors of a type may differ a little; others have to be equal. */
  public static boolean isFloat(TensorType type) {
    return switch (type) {
      case FP16, BF16, FP32, FP64 -> true;
      case BOOL, BYTES, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64 -> false;
    };
  }

  private static double number(TensorType type, MemorySegment memory, long at) {
    return switch (type) {
      case FP64 -> memory.get(JAVA_DOUBLE_UNALIGNED, at);
      case FP32 -> memory.get(JAVA_FLOAT_UNALIGNED, at);
      case BF16 -> Float.intBitsToFloat(memory.get(JAVA_SHORT_UNALIGNED, at) << 16);
      default -> Float.float16ToFloat(memory.get(JAVA_SHORT_UNALIGNED, at));
    };
  }
}
