package io.pipelane.server.protocol.inference;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.protocol.Json;
import java.io.IOException;

/**
 * A reader of a tensor's {@code data}: flat in row-major order, or nested exactly as its shape
 * says. Which of the two it is shows in the first value.
 */
final class JsonTensorReader {
  private final JsonParser parser;
  private final String input;
  private final Shape shape;
  private final long elements;
  private final JsonElementReader values;

  private JsonTensorReader(
      JsonParser parser, String input, TensorType type, Shape shape, ByteBuf target) {
    this.parser = parser;
    this.input = input;
    this.shape = shape;
    this.elements = shape.elements();
    this.values = new JsonElementReader(parser, input, type, target);
  }

  /**
   * Appends all elements of the array that begins at the parser's current token, and leaves the
   * parser at its end.
   *
   * @param shape concrete, its product checked
   * @throws StatusException when structure, count or an element does not fit
   */
  static void read(JsonParser parser, String input, TensorType type, Shape shape, ByteBuf target)
      throws IOException {
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      throw Json.wrong(parser, "input \"" + input + "\": data", "an array");
    }
    JsonTensorReader reader = new JsonTensorReader(parser, input, type, shape, target);
    JsonToken first = parser.nextToken();
    if (first == JsonToken.START_ARRAY && shape.rank() > 1) {
      reader.readNested(0, first);
    } else {
      reader.readFlat(first);
    }
  }

  private void readFlat(JsonToken first) throws IOException {
    for (JsonToken token = first; token != JsonToken.END_ARRAY; token = parser.nextToken()) {
      if (token == JsonToken.START_ARRAY) {
        throw mismatch("is nested at element " + values.count());
      }
      if (values.count() == elements) {
        throw mismatch("has more than " + elements + " elements");
      }
      values.read(token);
    }
    if (values.count() != elements) {
      throw mismatch("has " + values.count() + " elements, not " + elements);
    }
  }

  private void readNested(int axis, JsonToken first) throws IOException {
    boolean innermost = axis == shape.rank() - 1;
    long size = shape.dimension(axis);
    long length = 0;
    for (JsonToken token = first; token != JsonToken.END_ARRAY; token = parser.nextToken()) {
      if (length++ == size) {
        throw mismatch("has more than " + size + " entries along axis " + axis);
      }
      if (innermost != (token != JsonToken.START_ARRAY)) {
        throw mismatch("is nested unevenly before element " + values.count());
      }
      if (innermost) {
        values.read(token);
      } else {
        readNested(axis + 1, parser.nextToken());
      }
    }
    if (length != size) {
      throw mismatch("has " + length + " entries, not " + size + ", along axis " + axis);
    }
  }

  private StatusException mismatch(String fault) {
    return Json.invalid("input \"" + input + "\" of shape " + shape + ": data " + fault);
  }
}
