package io.pipelane.modelstore.importing;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;

/** How far apart two tensors of one shape are: ‖a − b‖ / ‖a‖. */
final class RelativeError {
  private RelativeError() {}

  /** The error; infinite for types that have to be equal and are not. NaN equals NaN. */
  static double of(TensorType type, MemorySegment expected, MemorySegment actual) {
    if (type != TensorType.FP32 && type != TensorType.FP64 && type != TensorType.FP16) {
      return expected.mismatch(actual) < 0 ? 0 : Double.POSITIVE_INFINITY;
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

  private static double number(TensorType type, MemorySegment memory, long at) {
    return switch (type) {
      case FP32 -> memory.get(JAVA_FLOAT_UNALIGNED, at);
      case FP64 -> memory.get(JAVA_DOUBLE_UNALIGNED, at);
      default -> Float.float16ToFloat(memory.get(JAVA_SHORT_UNALIGNED, at));
    };
  }
}
