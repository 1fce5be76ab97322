package io.pipelane.server.protocol.inference;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.protocol.Json;
import io.pipelane.server.protocol.inference.InputReader.Input;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A reader that reads and checks the JSON of one inference request, as a stream. Its tensors go
 * straight into direct buffers. Unknown members are ignored, null counts as absent, an empty list
 * of outputs means all.
 */
final class DescriptionReader {
  private static final int MAXIMUM_ID_LENGTH = 1024;

  private final ServedModel model;
  private final ByteBuf json;
  private final ByteBufAllocator allocator;
  private final List<ByteBuf> buffers;

  private @Nullable String id;
  private Parameters parameters = Parameters.NONE;
  private @Nullable List<Input> inputs;
  private @Nullable OutputWishes outputs;

  private DescriptionReader(
      ServedModel model, ByteBuf json, ByteBufAllocator allocator, List<ByteBuf> buffers) {
    this.model = model;
    this.json = json;
    this.allocator = allocator;
    this.buffers = buffers;
  }

  /**
   * Reads all readable bytes; the buffer's indices stay as they are.
   *
   * @param allocator for tensors that come as JSON
   * @param buffers takes every buffer allocated here, whatever comes of the request
   * @throws io.pipelane.config.StatusException when anything does not fit the protocol or the
   *     model's declaration
   */
  static InferDescription read(
      ServedModel model, ByteBuf json, ByteBufAllocator allocator, List<ByteBuf> buffers) {
    return new DescriptionReader(model, json, allocator, buffers).read();
  }

  private InferDescription read() {
    Json.read(
        json,
        parser -> {
          Json.beginObject(parser);
          for (String member = parser.nextFieldName();
              member != null;
              member = parser.nextFieldName()) {
            readMember(parser, member, parser.nextToken());
          }
          return json;
        });
    if (inputs == null) {
      throw Json.invalid("the request has no inputs");
    }
    OutputWishes wishes = outputs == null ? OutputWishes.all(model) : outputs;
    boolean binary = Boolean.TRUE.equals(parameters.binaryData());
    return new InferDescription(
        model,
        id,
        inputs,
        wishes.names(),
        wishes.binary(model, binary),
        wishes.regions(),
        parameters.timeoutMicros(),
        parameters.priority(),
        parameters.sequence(),
        new LatestAnswer());
  }

  private void readMember(JsonParser parser, String member, JsonToken token) throws IOException {
    boolean absent = token == JsonToken.VALUE_NULL;
    switch (member) {
      case "id" -> {
        if (id != null) {
          throw Json.duplicate("id");
        }
        id = absent ? null : readId(parser);
      }
      case "parameters" -> {
        parameters.requireNone("parameters");
        parameters = Parameters.read(parser, "the request", Parameters.OF_REQUEST);
      }
      case "inputs" -> {
        if (inputs != null) {
          throw Json.duplicate("inputs");
        }
        inputs = readInputs(parser);
      }
      case "outputs" -> {
        if (outputs != null) {
          throw Json.duplicate("outputs");
        }
        outputs = absent ? null : OutputWishes.read(parser, model);
      }
      default -> parser.skipChildren();
    }
  }

  private static String readId(JsonParser parser) throws IOException {
    if (parser.currentToken() != JsonToken.VALUE_STRING) {
      throw Json.wrong(parser, "id", "a string");
    }
    String id = parser.getText();
    if (id.length() > MAXIMUM_ID_LENGTH) {
      throw Json.invalid(
          "id has " + id.length() + " characters, the limit is " + MAXIMUM_ID_LENGTH);
    }
    return id;
  }

  private List<Input> readInputs(JsonParser parser) throws IOException {
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      throw Json.wrong(parser, "inputs", "an array");
    }
    List<Input> read = new ArrayList<>(model.inputs().size());
    boolean[] present = new boolean[model.inputs().size()];
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      Input input = new InputReader(model, json, allocator, buffers, read.size()).read(parser);
      if (present[input.declaration()]) {
        throw Json.duplicate("input \"" + input.spec().name() + '"');
      }
      present[input.declaration()] = true;
      read.add(input);
    }
    for (int i = 0; i < present.length; i++) {
      if (!present[i]) {
        TensorSpec spec = model.inputs().get(i);
        throw Json.invalid(
            "input \"%s\" (%s %s) is missing".formatted(spec.name(), spec.type(), spec.shape()));
      }
    }
    return read;
  }
}
