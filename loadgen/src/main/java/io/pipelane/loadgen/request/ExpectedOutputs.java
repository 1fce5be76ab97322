package io.pipelane.loadgen.request;

import io.pipelane.loadgen.settings.Response;
import io.pipelane.loadgen.settings.ResponseCheck;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Compares answers with what they should be. Numbers may differ by a share of their size, {@code |a
 * - b| / |b|} over the whole tensor; strings must be equal.
 */
final class ExpectedOutputs implements ResponseCheck {
  private final List<List<List<TensorValue>>> expected;
  private final double tolerance;
  private final Reader reader;

  /** Finds an answer's outputs, by name and in the protocol's binary form. */
  @FunctionalInterface
  interface Reader {
    /**
     * Reads a good answer.
     *
     * @throws IOException when it makes no sense; so does {@link IllegalArgumentException}
     */
    Map<String, ByteBuffer> outputs(Response response) throws IOException;
  }

  /**
   * @param expected by model and variant
   */
  ExpectedOutputs(List<List<List<TensorValue>>> expected, double tolerance, Reader reader) {
    this.reader = reader;
    this.expected = expected;
    this.tolerance = tolerance;
  }

  @Override
  public Optional<String> complaint(Response response) {
    List<TensorValue> wanted = expected.get(response.model()).get(response.variant());
    if (wanted.isEmpty() || response.status() != 200) {
      return Optional.empty();
    }
    try {
      Map<String, ByteBuffer> outputs = reader.outputs(response);
      for (TensorValue output : wanted) {
        ByteBuffer got = outputs.get(output.name());
        if (got == null) {
          return Optional.of("output \"" + output.name() + "\" is missing");
        }
        double distance = distance(output.type(), got, output.data());
        if (!(distance <= tolerance)) {
          return Optional.of(
              String.format(
                  Locale.ROOT,
                  "output \"%s\" is off by %.2e of its size, %.2e is allowed",
                  output.name(),
                  distance,
                  tolerance));
        }
      }
      return Optional.empty();
    } catch (IOException | IllegalArgumentException e) {
      return Optional.of("the answer cannot be read: " + e.getMessage());
    }
  }

  /** The distance as a share of what was expected; infinite when sizes differ. */
  static double distance(Datatype type, ByteBuffer got, ByteBuffer wanted) {
    if (got.remaining() != wanted.remaining()) {
      return Double.POSITIVE_INFINITY;
    }
    if (type == Datatype.BYTES) {
      return got.equals(wanted) ? 0 : Double.POSITIVE_INFINITY;
    }
    double difference = 0;
    double size = 0;
    while (wanted.hasRemaining()) {
      double expected = number(type, wanted);
      double error = number(type, got) - expected;
      difference += error * error;
      size += expected * expected;
    }
    return difference == 0 ? 0 : Math.sqrt(difference / size);
  }

  private static double number(Datatype type, ByteBuffer from) {
    return switch (type) {
      case BOOL, INT8 -> from.get();
      case UINT8 -> Byte.toUnsignedInt(from.get());
      case INT16 -> from.getShort();
      case UINT16 -> Short.toUnsignedInt(from.getShort());
      case INT32 -> from.getInt();
      case UINT32 -> Integer.toUnsignedLong(from.getInt());
      case INT64, UINT64 -> (double) from.getLong();
      case FP16 -> Float.float16ToFloat(from.getShort());
      case BF16 -> Float.intBitsToFloat(from.getShort() << 16);
      case FP32 -> from.getFloat();
      case FP64 -> from.getDouble();
      case BYTES -> throw new IllegalArgumentException("strings are no numbers");
    };
  }
}
