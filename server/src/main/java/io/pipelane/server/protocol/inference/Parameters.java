package io.pipelane.server.protocol.inference;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.protocol.Json;
import io.pipelane.server.protocol.RequestPriority;
import io.pipelane.server.shared.RegionPart;
import io.pipelane.switcher.SequenceStep;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a request, an input or an output that this server heeds. Others are checked to
 * be a string, a number or a bool and ignored; those that change an answer's meaning and are not
 * served are refused.
 */
final class Parameters {
  static final Parameters NONE = new Parameters();

  /** Asks for all outputs as binary data. */
  static final String OF_REQUEST = "binary_data_output";

  /** Asks for one output as binary data. */
  static final String OF_OUTPUT = "binary_data";

  /** Says how many bytes of binary data an input has. */
  static final String OF_INPUT = "binary_data_size";

  /** Says for how many microseconds the caller waits for the answer of a request. */
  static final String TIMEOUT = "timeout";

  /** Says which class a request waits in. */
  private static final String PRIORITY = "priority";

  /** Where in shared memory an input or an output lies. */
  static final String REGION = "shared_memory_region";

  private static final String REGION_SIZE = "shared_memory_byte_size";
  private static final String REGION_OFFSET = "shared_memory_offset";

  private static final String SEQUENCE_ID = "sequence_id";
  private static final String SEQUENCE_START = "sequence_start";
  private static final String SEQUENCE_END = "sequence_end";
  private static final int LONGEST_SEQUENCE_ID = 128;

  private @Nullable Boolean binaryData;
  private @Nullable String region;
  private long regionSize = -1;
  private long regionOffset;
  private @Nullable Priority priority;
  private @Nullable String sequenceId;
  private boolean sequenceStart;
  private boolean sequenceEnd;
  private long timeoutMicros;
  private long binaryDataSize = -1;

  private Parameters() {}

  /** Refuses a second member of a name, where these are the parameters that the first one had. */
  void requireNone(String member) {
    if (this != NONE) {
      throw Json.duplicate(member);
    }
  }

  /** Whether binary output is wanted; null where nothing was said. */
  @Nullable Boolean binaryData() {
    return binaryData;
  }

  /** How long the caller waits, 0 where nothing was said. */
  long timeoutMicros() {
    return timeoutMicros;
  }

  /** The class of the request; null where nothing was said. */
  @Nullable Priority priority() {
    return priority;
  }

  /** Bytes of binary data that belong to an input, -1 where nothing was said. */
  long binaryDataSize() {
    return binaryDataSize;
  }

  /**
   * Reads the object at the parser's current token; null counts as an empty one.
   *
   * @param owner what the parameters belong to, as error messages name it
   * @param heeded which of the names above has a meaning there
   */
  static Parameters read(JsonParser parser, String owner, String heeded) throws IOException {
    if (parser.currentToken() == JsonToken.VALUE_NULL) {
      return NONE;
    }
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw Json.wrong(parser, owner + ": parameters", "an object");
    }
    Parameters parameters = new Parameters();
    for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
      parameters.readOne(parser, owner, name, parser.nextToken(), heeded);
    }
    return parameters;
  }

  private void readOne(JsonParser parser, String owner, String name, JsonToken token, String heeded)
      throws IOException {
    if (!token.isScalarValue() || token == JsonToken.VALUE_NULL) {
      throw Json.wrong(parser, field(owner, name), "a string, a number or a bool");
    }
    switch (name) {
      case OF_REQUEST, OF_OUTPUT, OF_INPUT -> {
        if (name.equals(heeded)) {
          readBinary(parser, owner, name, token);
        }
      }
      case TIMEOUT -> {
        if (heeded.equals(OF_REQUEST)) {
          readTimeout(parser, owner, token);
        }
      }
      case SEQUENCE_ID, SEQUENCE_START, SEQUENCE_END -> {
        if (heeded.equals(OF_REQUEST)) {
          readSequence(parser, owner, name, token);
        }
      }
      case PRIORITY -> {
        if (heeded.equals(OF_REQUEST)) {
          priority = RequestPriority.of(parser.getText());
        }
      }
      case REGION, REGION_SIZE, REGION_OFFSET -> readRegion(parser, owner, name, token, heeded);
      case "classification" ->
          throw new StatusException(
              Status.UNIMPLEMENTED,
              field(owner, name) + " is not served; leave it out and send or take the data itself");
      default -> {}
    }
  }

  /**
   * Where in shared memory an input or output lies; null where nothing was said.
   *
   * @param kind what it is, as error messages say
   */
  @Nullable RegionPart region(String kind, String name) {
    if (region == null && regionSize < 0) {
      return null;
    }
    if (region == null || regionSize < 0) {
      throw Json.invalid(
          "%s \"%s\" needs both %s and %s".formatted(kind, name, REGION, REGION_SIZE));
    }
    return new RegionPart(region, regionOffset, regionSize);
  }

  private void readRegion(
      JsonParser parser, String owner, String name, JsonToken token, String heeded)
      throws IOException {
    if (heeded.equals(OF_REQUEST)) {
      throw Json.invalid(field(owner, name) + " belongs to an input or an output");
    }
    if (name.equals(REGION)) {
      if (token != JsonToken.VALUE_STRING) {
        throw Json.wrong(parser, field(owner, name), "a string");
      }
      region = parser.getText();
      return;
    }
    boolean fits =
        token == JsonToken.VALUE_NUMBER_INT
            && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER
            && parser.getLongValue() >= 0;
    if (!fits) {
      throw Json.wrong(parser, field(owner, name), "a whole number, 0 or more");
    }
    if (name.equals(REGION_SIZE)) {
      regionSize = parser.getLongValue();
    } else {
      regionOffset = parser.getLongValue();
    }
  }

  /** Where the request belongs to a sequence, which step it is. */
  Optional<SequenceStep> sequence() {
    return Optional.ofNullable(sequenceId)
        .map(id -> new SequenceStep(id, sequenceStart, sequenceEnd));
  }

  private void readSequence(JsonParser parser, String owner, String name, JsonToken token)
      throws IOException {
    if (name.equals(SEQUENCE_ID)) {
      String id = parser.getText();
      boolean isId = token == JsonToken.VALUE_STRING || token == JsonToken.VALUE_NUMBER_INT;
      if (!isId || id.isEmpty() || id.length() > LONGEST_SEQUENCE_ID) {
        throw Json.wrong(
            parser,
            field(owner, name),
            "an integer or a string of 1 to " + LONGEST_SEQUENCE_ID + " characters");
      }
      sequenceId = id.equals("0") ? null : id; // The protocol's 0 is no sequence.
      return;
    }
    if (!token.isBoolean()) {
      throw Json.wrong(parser, field(owner, name), "true or false");
    }
    if (name.equals(SEQUENCE_START)) {
      sequenceStart = parser.getBooleanValue();
    } else {
      sequenceEnd = parser.getBooleanValue();
    }
  }

  private void readBinary(JsonParser parser, String owner, String name, JsonToken token)
      throws IOException {
    if (name.equals(OF_INPUT)) {
      if (token != JsonToken.VALUE_NUMBER_INT || !fitsSize(parser)) {
        throw Json.wrong(parser, field(owner, name), "an integer within 0 to 2147483647");
      }
      binaryDataSize = parser.getLongValue();
      return;
    }
    if (!token.isBoolean()) {
      throw Json.wrong(parser, field(owner, name), "true or false");
    }
    binaryData = parser.getBooleanValue();
  }

  private void readTimeout(JsonParser parser, String owner, JsonToken token) throws IOException {
    if (token != JsonToken.VALUE_NUMBER_INT
        || parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
        || parser.getLongValue() < 0
        || parser.getLongValue() > ServedModel.LONGEST_TIMEOUT_MICROS) {
      throw Json.wrong(
          parser,
          field(owner, TIMEOUT),
          "microseconds within 0 to " + ServedModel.LONGEST_TIMEOUT_MICROS);
    }
    timeoutMicros = parser.getLongValue();
  }

  private static boolean fitsSize(JsonParser parser) throws IOException {
    return parser.getNumberType() == JsonParser.NumberType.INT && parser.getIntValue() >= 0;
  }

  private static String field(String owner, String name) {
    return owner + ": parameter \"" + Json.shorten(name) + '"';
  }
}
