package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
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
   * Checks the body of a load or unload request: models are configured in the repository, so a
   * configuration or files sent along are refused.
   *
   * @return how soon a model should be on its device: the parameter {@code deadline}, in
   *     microseconds
   * @throws StatusException when the body is no object, or asks for what is not served
   */
  public static Optional<Duration> deadline(ByteBuf body) {
    if (!body.isReadable()) {
      return Optional.empty();
    }
    return Json.read(
        body,
        parser -> {
          Optional<Duration> deadline = Optional.empty();
          Json.beginObject(parser);
          for (String member = parser.nextFieldName();
              member != null;
              member = parser.nextFieldName()) {
            parser.nextToken();
            if (member.equals("parameters")) {
              deadline = readParameters(parser);
            } else {
              parser.skipChildren();
            }
          }
          return deadline;
        });
  }

  private static Optional<Duration> readParameters(JsonParser parser) throws IOException {
    Optional<Duration> deadline = Optional.empty();
    if (parser.currentToken() == JsonToken.VALUE_NULL) {
      return deadline;
    }
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw Json.wrong(parser, "parameters", "an object");
    }
    for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
      checkParameter(name);
      parser.nextToken();
      if (name.equals("deadline")) {
        deadline = Optional.of(readDeadline(parser));
      } else {
        parser.skipChildren();
      }
    }
    return deadline;
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
   * Checks a parameter of a load or unload request.
   *
   * @throws StatusException {@link Status#UNIMPLEMENTED} for one that brings a configuration or a
   *     file along
   */
  public static void checkParameter(String name) {
    if (name.equals("config") || name.startsWith("file:")) {
      throw new StatusException(
          Status.UNIMPLEMENTED,
          "parameter \""
              + Json.shorten(name)
              + "\" is not served; put the model into the repository and load it by name");
    }
  }
}
