package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.StatusException;
import io.pipelane.server.shared.RegionSpec;
import java.io.IOException;
import java.util.List;

/** The bodies of the system shared memory extension's calls. */
public final class SharedMemoryJson {
  private SharedMemoryJson() {}

  /**
   * Reads what is to be registered.
   *
   * @param name what requests will call it by
   * @throws StatusException when the body does not say it
   */
  public static RegionSpec read(ByteBuf body, String name) {
    return Json.read(body, parser -> read(parser, name));
  }

  private static RegionSpec read(JsonParser parser, String name) throws IOException {
    String key = "";
    long offset = 0;
    long byteSize = 0;
    Json.beginObject(parser);
    for (String member = parser.nextFieldName(); member != null; member = parser.nextFieldName()) {
      JsonToken token = parser.nextToken();
      switch (member) {
        case "key" -> {
          if (token != JsonToken.VALUE_STRING) {
            throw Json.wrong(parser, "key", "a string");
          }
          key = parser.getText();
        }
        case "offset" -> offset = number(parser, member);
        case "byte_size" -> byteSize = number(parser, member);
        default -> parser.skipChildren();
      }
    }
    return new RegionSpec(name, key, offset, byteSize);
  }

  private static long number(JsonParser parser, String member) throws IOException {
    boolean fits =
        parser.currentToken() == JsonToken.VALUE_NUMBER_INT
            && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER;
    if (!fits) {
      throw Json.wrong(parser, member, "a whole number of bytes");
    }
    return parser.getLongValue();
  }

  /** Appends what is registered. */
  public static void write(ByteBuf target, List<RegionSpec> regions) {
    Json.write(
        target,
        json -> {
          json.writeStartArray();
          for (RegionSpec region : regions) {
            json.writeStartObject();
            json.writeStringField("name", region.name());
            json.writeStringField("key", region.key());
            json.writeNumberField("offset", region.offset());
            json.writeNumberField("byte_size", region.byteSize());
            json.writeEndObject();
          }
          json.writeEndArray();
        });
  }
}
