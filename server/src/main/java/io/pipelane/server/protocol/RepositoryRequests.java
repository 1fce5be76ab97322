package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.catalog.LoadOptions;
import java.io.IOException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The decoders of the bodies of the repository extension's calls; an empty body is a plain call.
 */
public final class RepositoryRequests {
  /** A day. */
  private static final long MOST_MICROS = 86_400_000_000L;

  /** What the names of parameters begin with that are files; the file's path follows. */
  public static final String FILE = "file:";

  /** The parameter by which the models of an ensemble go along with it. */
  public static final String UNLOAD_DEPENDENTS = "unload_dependents";

  private RepositoryRequests() {}

  /**
   * Whether an index request wants only models that are READY.
   *
   * @throws StatusException when the body is no object or its {@code ready} no bool
   */
  public static boolean onlyReady(ByteBuf body) {
    if (!body.isReadable()) {
      return false;
    }
    return Json.read(
        body,
        parser -> {
          boolean ready = false;
          Json.beginObject(parser);
          for (String member = parser.nextFieldName();
              member != null;
              member = parser.nextFieldName()) {
            JsonToken token = parser.nextToken();
            if (!member.equals("ready")) {
              parser.skipChildren();
            } else if (token.isBoolean()) {
              ready = parser.getBooleanValue();
            } else {
              throw Json.wrong(parser, "ready", "true or false");
            }
          }
          return ready;
        });
  }

  /**
   * How a body asks for a model to be loaded: the parameters {@code deadline}, in microseconds,
   * {@code config}, a {@code ModelConfig} as JSON in a string, and {@code file:PATH}, files of the
   * model in base 64.
   *
   * @throws StatusException when the body is no object, or a parameter is not of its form
   */
  public static LoadOptions load(ByteBuf body) {
    return parameters(body, LoadOptions.NONE, RepositoryRequests::readParameters);
  }

  /**
   * Whether an unload request asks for the model's dependents to go along, by the parameter {@link
   * #UNLOAD_DEPENDENTS}.
   *
   * @throws StatusException when the body is no object, or the parameter no bool
   */
  public static boolean unloadsDependents(ByteBuf body) {
    return parameters(body, false, RepositoryRequests::readDependents);
  }

  /**
   * Reads a body's object of parameters.
   *
   * @param none where there is no body, or no such object
   * @param reading from a parser that stands at the object's beginning
   */
  private static <T> T parameters(ByteBuf body, T none, Json.Reading<T> reading) {
    if (!body.isReadable()) {
      return none;
    }
    return Json.read(
        body,
        parser -> {
          T read = none;
          Json.beginObject(parser);
          for (String member = parser.nextFieldName();
              member != null;
              member = parser.nextFieldName()) {
            JsonToken token = parser.nextToken();
            if (!member.equals("parameters")) {
              parser.skipChildren();
            } else if (token == JsonToken.VALUE_NULL) {
              read = none;
            } else if (token == JsonToken.START_OBJECT) {
              read = reading.read(parser);
            } else {
              throw Json.wrong(parser, "parameters", "an object");
            }
          }
          return read;
        });
  }

  private static boolean readDependents(JsonParser parser) throws IOException {
    boolean dependents = false;
    for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
      JsonToken token = parser.nextToken();
      if (!name.equals(UNLOAD_DEPENDENTS)) {
        parser.skipChildren();
      } else if (token.isBoolean()) {
        dependents = parser.getBooleanValue();
      } else {
        throw Json.wrong(parser, "parameters.unload_dependents", "true or false");
      }
    }
    return dependents;
  }

  private static LoadOptions readParameters(JsonParser parser) throws IOException {
    Optional<Duration> deadline = Optional.empty();
    Optional<String> config = Optional.empty();
    Map<String, byte[]> files = new HashMap<>();
    for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
      parser.nextToken();
      switch (name) {
        case "deadline" -> deadline = Optional.of(readDeadline(parser));
        case "config" -> config = Optional.of(readConfig(parser));
        default -> {
          if (name.startsWith(FILE)) {
            files.put(name.substring(FILE.length()), readFile(parser, name));
          } else {
            parser.skipChildren();
          }
        }
      }
    }
    return options(deadline, config, files);
  }

  /**
   * How a model is to be loaded.
   *
   * @param files by their paths in the model's folder
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for files without a configuration, as
   *     the protocol has it
   */
  public static LoadOptions options(
      Optional<Duration> within, Optional<String> config, Map<String, byte[]> files) {
    if (!files.isEmpty() && config.isEmpty()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "files come with a configuration only: add the parameter config, \"{}\" for none");
    }
    return new LoadOptions(within, config, Map.copyOf(files));
  }

  private static byte[] readFile(JsonParser parser, String name) throws IOException {
    if (parser.currentToken() != JsonToken.VALUE_STRING) {
      throw Json.wrong(parser, "parameters." + Json.shorten(name), "a file in base 64");
    }
    try {
      return parser.getBinaryValue();
    } catch (JsonParseException e) {
      throw Json.invalid(
          "parameters.%s must be a file in base 64 (A-Z, a-z, 0-9, + and /, padded with =): %s"
              .formatted(Json.shorten(name), base64Fault(e)));
    }
  }

  /** What is wrong, without how the library might have been set. */
  private static String base64Fault(JsonParseException fault) {
    return fault
        .getOriginalMessage()
        .replaceAll("^Failed to decode [^:]*: ", "")
        .replaceAll("\\. This Base64Variant might .*", "");
  }

  private static String readConfig(JsonParser parser) throws IOException {
    if (parser.currentToken() != JsonToken.VALUE_STRING) {
      throw Json.wrong(parser, "parameters.config", "a model configuration as JSON, in a string");
    }
    return parser.getText();
  }

  private static Duration readDeadline(JsonParser parser) throws IOException {
    boolean fits =
        parser.currentToken() == JsonToken.VALUE_NUMBER_INT
            && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER;
    if (!fits) {
      throw Json.wrong(parser, "parameters.deadline", "microseconds from 0 to " + MOST_MICROS);
    }
    return deadline(parser.getLongValue());
  }

  /**
   * How soon a model should be on its device.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for less than none and more than a day
   */
  public static Duration deadline(long micros) {
    if (micros < 0 || micros > MOST_MICROS) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "parameters.deadline must be microseconds from 0 to %d, not %d"
              .formatted(MOST_MICROS, micros));
    }
    return Duration.of(micros, ChronoUnit.MICROS);
  }
}
