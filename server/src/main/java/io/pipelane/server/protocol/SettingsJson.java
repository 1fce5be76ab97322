package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The bodies of the trace and logging extensions' calls. */
public final class SettingsJson {
  private static final int MAXIMUM_VALUES = 16;

  private SettingsJson() {}

  /** A reader of one member's value, at which the parser stands. */
  private interface Member<T> {
    T read(JsonParser parser, String name) throws IOException;
  }

  /**
   * Trace settings: texts, or arrays of texts; none for null.
   *
   * @throws StatusException when the body is no object of these
   */
  public static Map<String, List<String>> texts(ByteBuf body) {
    return members(body, SettingsJson::texts);
  }

  /**
   * Log settings: each a Boolean, a Long or a String.
   *
   * @throws StatusException when the body is no object of these
   */
  public static Map<String, Object> values(ByteBuf body) {
    return members(body, SettingsJson::value);
  }

  private static <T> Map<String, T> members(ByteBuf body, Member<T> member) {
    return Json.read(
        body,
        parser -> {
          Map<String, T> members = new LinkedHashMap<>();
          Json.beginObject(parser);
          for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
            parser.nextToken();
            if (members.put(name, member.read(parser, name)) != null) {
              throw Json.duplicate(Json.shorten(name));
            }
            if (members.size() > MAXIMUM_VALUES) {
              throw Json.invalid("there are more than " + MAXIMUM_VALUES + " settings");
            }
          }
          return members;
        });
  }

  private static List<String> texts(JsonParser parser, String name) throws IOException {
    List<String> texts = new ArrayList<>(1);
    switch (parser.currentToken()) {
      case VALUE_NULL -> {}
      case VALUE_STRING, VALUE_NUMBER_INT -> texts.add(parser.getText());
      case START_ARRAY -> {
        while (parser.nextToken() == JsonToken.VALUE_STRING && texts.size() < MAXIMUM_VALUES) {
          texts.add(parser.getText());
        }
        if (parser.currentToken() != JsonToken.END_ARRAY) {
          throw Json.wrong(parser, Json.shorten(name), "an array of a few texts");
        }
      }
      default -> throw Json.wrong(parser, Json.shorten(name), "a text, or an array of texts");
    }
    return texts;
  }

  private static Object value(JsonParser parser, String name) throws IOException {
    return switch (parser.currentToken()) {
      case VALUE_TRUE, VALUE_FALSE -> parser.getBooleanValue();
      case VALUE_STRING -> parser.getText();
      case VALUE_NUMBER_INT -> {
        if (parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
          throw Json.wrong(parser, Json.shorten(name), "a number of 64 bits");
        }
        yield parser.getLongValue();
      }
      default -> throw Json.wrong(parser, Json.shorten(name), "a bool, a number or a text");
    };
  }

  /** Appends trace settings: texts, and the level as an array. */
  public static void writeTexts(ByteBuf target, Map<String, List<String>> settings) {
    Json.write(
        target,
        json -> {
          json.writeStartObject();
          for (Map.Entry<String, List<String>> setting : settings.entrySet()) {
            json.writeFieldName(setting.getKey());
            writeTexts(json, setting.getKey(), setting.getValue());
          }
          json.writeEndObject();
        });
  }

  private static void writeTexts(JsonGenerator json, String name, List<String> texts)
      throws IOException {
    if (!name.equals("trace_level")) {
      json.writeString(texts.getFirst());
      return;
    }
    json.writeStartArray();
    for (String text : texts) {
      json.writeString(text);
    }
    json.writeEndArray();
  }

  /** Appends log settings. */
  public static void writeValues(ByteBuf target, Map<String, Object> settings) {
    Json.write(
        target,
        json -> {
          json.writeStartObject();
          for (Map.Entry<String, Object> setting : settings.entrySet()) {
            json.writeObjectField(setting.getKey(), setting.getValue());
          }
          json.writeEndObject();
        });
  }
}
