package io.pipelane.lanes.cuda.execution;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import io.pipelane.lanes.cuda.execution.HeldAnswer.Output;
import io.pipelane.runtime.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Optional;

/** Compares two answers to one request. */
final class AnswerComparison {
  /** The largest ‖a − b‖ / ‖b‖ of answers that count as equal on a GPU with TF32. */
  static final double TOLERANCE = 2e-3;

  private AnswerComparison() {}

  /** What differs, if anything does. */
  static Optional<String> difference(Map<String, Output> expected, Map<String, Output> actual) {
    for (Map.Entry<String, Output> entry : expected.entrySet()) {
      Output wanted = entry.getValue();
      Output found = actual.get(entry.getKey());
      if (found == null || !found.shape().equals(wanted.shape())) {
        return Optional.of("output \"%s\" has another shape".formatted(entry.getKey()));
      }
      double error = error(wanted.type(), wanted.data(), found.data());
      if (error > TOLERANCE) {
        return Optional.of("output \"%s\" is %.1e off".formatted(entry.getKey(), error));
      }
    }
    return Optional.empty();
  }

  /** ‖a − b‖ / ‖a‖; infinite for types that have to be equal and are not. NaN equals NaN. */
  static double error(TensorType type, MemorySegment expected, MemorySegment actual) {
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

  static boolean isFloat(TensorType type) {
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
