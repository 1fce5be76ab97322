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
 * A check that compares answers with what they should be. Numbers may differ by a share of their
 * size, {@code |a - b| / |b|} over the whole tensor; strings must be equal. What is expected to be
 * no number is no number, and an infinity the same one; they count for neither size nor difference.
 */
final class ExpectedOutputs implements ResponseCheck {
  private final List<List<List<TensorValue>>> expected;
  private final double tolerance;
  private final Reader reader;

  /** A reader that finds an answer's outputs, by name and in the protocol's binary form. */
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
        Optional<String> difference = difference(output, got);
        if (difference.isPresent()) {
          return difference.map(how -> "output \"" + output.name() + "\" " + how);
        }
      }
      return Optional.empty();
    } catch (IOException | IllegalArgumentException e) {
      return Optional.of("the answer cannot be read: " + e.getMessage());
    }
  }

  /** What is wrong with an output, if anything is. */
  private Optional<String> difference(TensorValue output, ByteBuffer got) {
    ByteBuffer wanted = output.data();
    if (output.type() == Datatype.BYTES) {
      return got.equals(wanted) ? Optional.empty() : Optional.of("has other strings");
    }
    if (got.remaining() != wanted.remaining()) {
      return Optional.of(
          "has %d bytes, %d are expected".formatted(got.remaining(), wanted.remaining()));
    }
    double difference = 0;
    double size = 0;
    for (int element = 0; wanted.hasRemaining(); element++) {
      double expected = number(output.type(), wanted);
      double value = number(output.type(), got);
      if (Double.isFinite(expected) && Double.isFinite(value)) {
        difference += (value - expected) * (value - expected);
        size += expected * expected;
      } else if (Double.compare(value, expected) != 0) {
        return Optional.of(
            "is %s at element %d, %s is expected".formatted(value, element, expected));
      }
    }
    double distance = difference == 0 ? 0 : Math.sqrt(difference / size);
    return distance <= tolerance
        ? Optional.empty()
        : Optional.of(
            String.format(
                Locale.ROOT, "is off by %.2e of its size, %.2e is allowed", distance, tolerance));
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
