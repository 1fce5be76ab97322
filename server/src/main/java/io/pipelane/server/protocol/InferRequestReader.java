package io.pipelane.server.protocol;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.protocol.InputReader.Input;
import io.pipelane.switcher.InferenceRequest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decodes and checks one inference request: JSON, then the binary data of its inputs.
 *
 * <p>JSON is read as a stream and its tensors go straight into direct buffers; binary tensors stay
 * where they are in the body. Unknown members are ignored, null counts as absent, an empty list of
 * outputs means all. Safe for any thread, one request per instance.
 */
public final class InferRequestReader {
  private static final int MAXIMUM_ID_LENGTH = 1024;

  private final ServedModel model;
  private final ByteBuf body;
  private final ByteBuf json;
  private final ByteBufAllocator allocator;
  private final List<ByteBuf> buffers = new ArrayList<>(4);

  private @Nullable String id;
  private Parameters parameters = Parameters.NONE;
  private @Nullable List<Input> inputs;
  private @Nullable OutputWishes outputs;

  private InferRequestReader(
      ServedModel model, ByteBuf body, int jsonLength, ByteBufAllocator allocator) {
    this.model = model;
    this.body = body;
    this.json = body.slice(body.readerIndex(), jsonLength);
    this.allocator = allocator;
  }

  /**
   * Decodes a body.
   *
   * <p>The caller keeps its own reference to the body and may release it afterwards: the call holds
   * one more where a binary tensor lies in it. When this method throws, nothing is held.
   *
   * @param body its readable bytes are the request; its indices stay as they are
   * @param jsonLength bytes of JSON at the beginning, at most the body's
   * @param allocator for tensors that come as JSON
   * @throws StatusException when anything does not fit the protocol or the model's declaration
   */
  public static InferCall read(
      ServedModel model, ByteBuf body, int jsonLength, ByteBufAllocator allocator) {
    InferRequestReader reader = new InferRequestReader(model, body, jsonLength, allocator);
    boolean done = false;
    try {
      InferCall call = reader.read();
      done = true;
      return call;
    } finally {
      if (!done) {
        reader.buffers.forEach(ByteBuf::release);
      }
    }
  }

  private InferCall read() {
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
    InferenceRequest request = new InferenceRequest(model.version(), bind(inputs), wishes.names());
    boolean binary = Boolean.TRUE.equals(parameters.binaryData());
    return new InferCall(model, id, request, wishes.binary(model, binary), buffers);
  }

  private void readMember(JsonParser parser, String member, JsonToken token) throws IOException {
    boolean absent = token == JsonToken.VALUE_NULL;
    switch (member) {
      case "id" -> id = absent ? null : readId(parser);
      case "parameters" ->
          parameters = Parameters.read(parser, "the request", Parameters.OF_REQUEST);
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

  /** Finds each input's bytes, and puts the inputs in the order of the model's declaration. */
  private List<InputTensor> bind(List<Input> inputs) {
    int end = body.writerIndex();
    int at = json.readableBytes() + body.readerIndex();
    long promised = 0;
    for (Input input : inputs) {
      promised += Math.max(0, input.binaryDataSize());
    }
    if (promised != end - at) {
      throw Json.invalid(
          "the inputs' binary_data_size add up to %d bytes, %d follow the JSON of %d bytes"
              .formatted(promised, end - at, json.readableBytes()));
    }
    ByteBuf binary = promised == 0 ? body : directBinary(at, end - at);
    int offset = 0;
    InputTensor[] tensors = new InputTensor[inputs.size()];
    for (Input input : inputs) {
      ByteBuf bytes = input.data();
      if (bytes == null) {
        int size = (int) input.binaryDataSize();
        bytes = binary.slice(binary.readerIndex() + offset, size);
        offset += size;
        BinaryTensors.check(input, BinaryTensors.segment(bytes));
      }
      tensors[input.declaration()] =
          new InputTensor(
              input.spec().name(),
              input.spec().type(),
              input.shape(),
              BinaryTensors.segment(bytes));
    }
    return List.of(tensors);
  }

  /** The body's binary part as one stretch of native memory; copied only where it is not. */
  private ByteBuf directBinary(int at, int length) {
    if (body.isDirect() && body.nioBufferCount() == 1) {
      buffers.add(body.retain());
      return body.slice(at, length);
    }
    ByteBuf copy = allocator.directBuffer(length, length);
    buffers.add(copy);
    return copy.writeBytes(body, at, length);
  }
}
