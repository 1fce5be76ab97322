package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;

/** Decodes the bodies of the repository extension's calls; an empty body is a plain call. */
public final class RepositoryRequests {
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
   * @throws StatusException when the body is no object, or asks for what is not served
   */
  public static void check(ByteBuf body) {
    if (!body.isReadable()) {
      return;
    }
    Json.read(
        body,
        parser -> {
          Json.beginObject(parser);
          for (String member = parser.nextFieldName();
              member != null;
              member = parser.nextFieldName()) {
            parser.nextToken();
            if (member.equals("parameters")) {
              checkParameters(parser);
            } else {
              parser.skipChildren();
            }
          }
          return body;
        });
  }

  private static void checkParameters(JsonParser parser) throws IOException {
    if (parser.currentToken() == JsonToken.VALUE_NULL) {
      return;
    }
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw Json.wrong(parser, "parameters", "an object");
    }
    for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
      checkParameter(name);
      parser.nextToken();
      parser.skipChildren();
    }
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
