package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ServedVersions;
import io.pipelane.modelstore.repository.VersionChoice;
import io.pipelane.server.catalog.ModelCatalog.Entry;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/**
 * The JSON form of the choice of a model's versions: {@code serve}, {@code default} and {@code
 * labels}. A change has some of them; null gives up what was chosen.
 */
public final class VersionChoiceForm {
  private VersionChoiceForm() {}

  /** Writes a choice, and the versions that it is of. */
  public static void write(
      ByteBuf target, String model, VersionChoice choice, List<Entry> entries) {
    Json.write(
        target,
        json -> {
          json.writeStartObject();
          json.writeStringField("name", model);
          json.writeStringField(
              "serve", choice.served().map(ServedVersions::toString).orElse(null));
          json.writeStringField("default", choice.standard().isEmpty() ? null : choice.standard());
          json.writeObjectFieldStart("labels");
          for (Map.Entry<String, Long> label : new TreeMap<>(choice.labels()).entrySet()) {
            json.writeStringField(label.getKey(), Long.toString(label.getValue()));
          }
          json.writeEndObject();
          json.writeArrayFieldStart("versions");
          for (Entry entry : entries) {
            json.writeStartObject();
            Answers.writeEntry(json, entry);
            json.writeEndObject();
          }
          json.writeEndArray();
          json.writeEndObject();
        });
  }

  /**
   * Reads a change.
   *
   * @throws StatusException when it is none
   */
  public static UnaryOperator<VersionChoice> read(ByteBuf body) {
    return Json.read(
        body,
        parser -> {
          UnaryOperator<VersionChoice> change = UnaryOperator.identity();
          Json.beginObject(parser);
          for (String member = parser.nextFieldName();
              member != null;
              member = parser.nextFieldName()) {
            parser.nextToken();
            change =
                then(
                    change,
                    switch (member) {
                      case "serve" -> serve(parser);
                      case "default" -> standard(parser);
                      case "labels" -> labels(parser);
                      default ->
                          throw Json.invalid(
                              "nothing is chosen by \"%s\"; it takes serve, default and labels"
                                  .formatted(Json.shorten(member)));
                    });
          }
          return change;
        });
  }

  private static UnaryOperator<VersionChoice> then(
      UnaryOperator<VersionChoice> first, UnaryOperator<VersionChoice> next) {
    return choice -> next.apply(first.apply(choice));
  }

  private static UnaryOperator<VersionChoice> serve(JsonParser parser) throws IOException {
    if (parser.currentToken() == JsonToken.VALUE_NULL) {
      return choice -> choice.serving(Optional.empty());
    }
    ServedVersions served =
        ServedVersions.parse(text(parser, "serve", "all, latest:2 or versions like 1,3"));
    return choice -> choice.serving(Optional.of(served));
  }

  private static UnaryOperator<VersionChoice> standard(JsonParser parser) throws IOException {
    String version =
        parser.currentToken() == JsonToken.VALUE_NULL
            ? ""
            : text(parser, "default", "a version or a label");
    return choice -> choice.withStandard(version);
  }

  private static UnaryOperator<VersionChoice> labels(JsonParser parser) throws IOException {
    if (parser.currentToken() == JsonToken.VALUE_NULL) {
      return choice -> new VersionChoice(choice.served(), choice.standard(), Map.of());
    }
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw Json.wrong(parser, "labels", "an object of versions by label");
    }
    UnaryOperator<VersionChoice> change = UnaryOperator.identity();
    for (String label = parser.nextFieldName(); label != null; label = parser.nextFieldName()) {
      String name = label;
      if (parser.nextToken() == JsonToken.VALUE_NULL) {
        change = then(change, choice -> choice.without(name));
      } else {
        long version = version(parser, name);
        change = then(change, choice -> choice.with(name, version));
      }
    }
    return change;
  }

  private static long version(JsonParser parser, String label) throws IOException {
    String field = "labels." + Json.shorten(label);
    String text = text(parser, field, "a version, or null");
    if (!text.matches("[1-9][0-9]{0,17}")) {
      throw Json.wrong(parser, field, "a version, or null");
    }
    return Long.parseLong(text);
  }

  /** Numbers are texts as well. */
  private static String text(JsonParser parser, String field, String expected) throws IOException {
    if (parser.currentToken() != JsonToken.VALUE_STRING
        && parser.currentToken() != JsonToken.VALUE_NUMBER_INT) {
      throw Json.wrong(parser, field, expected);
    }
    return parser.getText();
  }
}
