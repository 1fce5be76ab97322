package io.pipelane.runtime;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;

/** The relative error between two tensors of one shape: ‖a − b‖ / ‖a‖. */
public final class RelativeError {
  private RelativeError() {}

  /**
   * The error; infinite for types that have to be equal and are not. NaN equals NaN.
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
    return Double.isNaN(error) ? Double.POSITIVE_INFINITY : error;
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
