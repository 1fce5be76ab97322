package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.catalog.LoadOptions;
import java.io.IOException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

/** Decodes the bodies of the repository extension's calls; an empty body is a plain call. */
public final class RepositoryRequests {
  /** A day. */
  private static final long MOST_MICROS = 86_400_000_000L;

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
   * How a body asks for a model to be loaded: the parameters {@code deadline}, in microseconds, and
   * {@code config}, a {@code ModelConfig} as JSON in a string.
   *
   * @throws StatusException when the body is no object, or asks for what is not served
   */
  public static LoadOptions load(ByteBuf body) {
    if (!body.isReadable()) {
      return LoadOptions.NONE;
    }
    return Json.read(
        body,
        parser -> {
          LoadOptions options = LoadOptions.NONE;
          Json.beginObject(parser);
          for (String member = parser.nextFieldName();
              member != null;
              member = parser.nextFieldName()) {
            parser.nextToken();
            if (member.equals("parameters")) {
              options = readParameters(parser);
            } else {
              parser.skipChildren();
            }
          }
          return options;
        });
  }

  /**
   * Checks the body of an unload request, whose parameters change nothing.
   *
   * @throws StatusException as {@link #load}
   */
  public static void checkUnload(ByteBuf body) {
    load(body);
  }

  private static LoadOptions readParameters(JsonParser parser) throws IOException {
    if (parser.currentToken() == JsonToken.VALUE_NULL) {
      return LoadOptions.NONE;
    }
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw Json.wrong(parser, "parameters", "an object");
    }
    Optional<Duration> deadline = Optional.empty();
    Optional<String> config = Optional.empty();
    for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
      checkParameter(name);
      parser.nextToken();
      switch (name) {
        case "deadline" -> deadline = Optional.of(readDeadline(parser));
        case "config" -> config = Optional.of(readConfig(parser));
        default -> parser.skipChildren();
      }
    }
    return new LoadOptions(deadline, config);
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

  /**
   * Checks the name of a parameter of a load or unload request.
   *
   * @throws StatusException {@link Status#UNIMPLEMENTED} for a file that comes along
   */
  public static void checkParameter(String name) {
    if (name.startsWith("file:")) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "parameter \""
              + Json.shorten(name)
              + "\" is not served; put the file into the repository, by PUT"
              + " /v2/repository/models/{model}/versions/{version} for instance, and load it by name");
    }
  }
}
