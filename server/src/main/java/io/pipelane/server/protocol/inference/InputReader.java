package io.pipelane.server.protocol.inference;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.memory.DirectMemory;
import io.pipelane.server.protocol.Json;
import io.pipelane.server.shared.RegionPart;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A reader of one object of a request's {@code inputs}, which it checks against the model's
 * declaration.
 *
 * <p>Its members may stand in any order. Where {@code data} comes before what is needed to read it,
 * its place is noted and it is read at the end of the object.
 */
final class InputReader {
  private static final int MAXIMUM_RANK = 16;

  private final ServedModel model;
  private final ByteBuf json;
  private final ByteBufAllocator allocator;
  private final List<ByteBuf> buffers;
  private final int index;

  private @Nullable String name;
  private @Nullable TensorType type;
  private @Nullable Shape shape;
  private Parameters parameters = Parameters.NONE;
  private @Nullable ByteBuf data;
  private boolean dataSeen;
  private long deferredStart = -1;
  private long deferredEnd;

  /**
   * @param json the whole JSON text that the parser reads
   * @param buffers takes every buffer allocated here, whatever comes of the input
   * @param index position in the request's inputs
   */
  InputReader(
      ServedModel model,
      ByteBuf json,
      ByteBufAllocator allocator,
      List<ByteBuf> buffers,
      int index) {
    this.model = model;
    this.json = json;
    this.allocator = allocator;
    this.buffers = buffers;
    this.index = index;
  }

  /**
   * An input whose description has been checked.
   *
   * @param declaration position in the model's inputs
   * @param data its elements where they came in JSON, null where binary data follows
   * @param binaryDataSize what the request says of its binary data, -1 for others
   * @param region where in shared memory it lies, null for others
   */
  record Input(
      int declaration,
      TensorSpec spec,
      Shape shape,
      @Nullable ByteBuf data,
      long binaryDataSize,
      @Nullable RegionPart region) {}

  /** Reads the object at the parser's current token. */
  Input read(JsonParser parser) throws IOException {
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw Json.wrong(parser, place(), "an object");
    }
    for (String member = parser.nextFieldName(); member != null; member = parser.nextFieldName()) {
      readMember(parser, member, parser.nextToken());
    }
    return check();
  }

  private void readMember(JsonParser parser, String member, JsonToken token) throws IOException {
    switch (member) {
      case "name" -> {
        refuseSecond(name, "name");
        name = string(parser, "name");
      }
      case "datatype" -> {
        refuseSecond(type, "datatype");
        type = datatype(string(parser, "datatype"));
      }
      case "shape" -> {
        refuseSecond(shape, "shape");
        shape = readShape(parser);
      }
      case "parameters" -> {
        parameters.requireNone(place() + ".parameters");
        parameters = Parameters.read(parser, place(), Parameters.OF_INPUT);
      }
      case "data" -> {
        if (token != JsonToken.VALUE_NULL) {
          readData(parser);
        }
      }
      default -> parser.skipChildren();
    }
  }

  private TensorType datatype(String text) {
    try {
      return TensorType.ofName(text);
    } catch (StatusException e) {
      throw e.saying(place() + ": " + e.getMessage());
    }
  }

  private void readData(JsonParser parser) throws IOException {
    if (dataSeen) {
      throw Json.duplicate(place() + ".data");
    }
    dataSeen = true;
    if (name != null && type != null && shape != null) {
      TensorSpec spec = model.inputs().get(declaration(name));
      data = readTensor(parser, spec, type, shape);
    } else {
      deferredStart = parser.currentTokenLocation().getByteOffset();
      parser.skipChildren();
      parser.finishToken(); // A string may end further on.
      deferredEnd = parser.currentLocation().getByteOffset();
    }
  }

  private Input check() {
    if (name == null) {
      throw Json.invalid(place() + " has no name");
    }
    int declaration = declaration(name);
    TensorSpec spec = model.inputs().get(declaration);
    if (type == null) {
      throw fault(spec, " has no datatype; the model declares " + spec.type());
    }
    if (shape == null) {
      throw fault(spec, " has no shape; the model declares " + spec.shape());
    }
    TensorType theType = type;
    Shape theShape = shape;
    if (deferredStart >= 0) {
      ByteBuf text =
          json.slice(json.readerIndex() + (int) deferredStart, (int) (deferredEnd - deferredStart));
      data =
          Json.read(
              text,
              parser -> {
                parser.nextToken();
                return readTensor(parser, spec, theType, theShape);
              });
    }
    if (data == null) {
      TensorShapes.check(model, spec, theType, theShape);
    }
    long size = parameters.binaryDataSize();
    if (data != null && size >= 0) {
      throw fault(spec, " has both data and binary_data_size; leave one out");
    }
    RegionPart region = parameters.region("input", spec.name());
    if (region != null && (data != null || size >= 0)) {
      throw fault(spec, " has both data and a shared_memory_region; leave one out");
    }
    if (data == null && size < 0 && region == null) {
      throw fault(spec, " has neither data nor the parameter binary_data_size");
    }
    return new Input(declaration, spec, theShape, data, size, region);
  }

  private ByteBuf readTensor(JsonParser parser, TensorSpec spec, TensorType type, Shape shape)
      throws IOException {
    TensorShapes.check(model, spec, type, shape);
    if (type == TensorType.BF16) {
      throw fault(spec, ": BF16 has no JSON form; send it with binary_data_size");
    }
    long elements = shape.elements();
    if (elements > json.readableBytes()) {
      throw fault(
          spec,
          ": shape %s needs %d elements, more than the request's JSON of %d bytes holds"
              .formatted(shape, elements, json.readableBytes()));
    }
    long capacity = Math.max(1, elements * Math.max(Integer.BYTES, type.byteWidth()));
    if (capacity > Integer.MAX_VALUE) {
      throw new StatusException(
          Status.TOO_LARGE,
          "%s: its %d bytes are more than the limit of 2147483647"
              .formatted(TensorShapes.label(spec), capacity));
    }
    ByteBuf target = DirectMemory.take((int) capacity, allocator);
    buffers.add(target);
    JsonTensorReader.read(parser, spec.name(), type, shape, target);
    return target;
  }

  private Shape readShape(JsonParser parser) throws IOException {
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      throw Json.wrong(parser, place() + ".shape", "an array of integers");
    }
    long[] dimensions = new long[MAXIMUM_RANK];
    int rank = 0;
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      if (rank == MAXIMUM_RANK) {
        throw Json.invalid(place() + ".shape has more than " + MAXIMUM_RANK + " dimensions");
      }
      dimensions[rank] = dimension(parser, rank);
      rank++;
    }
    return Shape.of(Arrays.copyOf(dimensions, rank));
  }

  private long dimension(JsonParser parser, int axis) throws IOException {
    boolean fits =
        parser.currentToken() == JsonToken.VALUE_NUMBER_INT
            && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER
            && parser.getLongValue() >= 0;
    if (!fits) {
      throw Json.wrong(
          parser, place() + ".shape[" + axis + "]", "an integer within 0 to " + Long.MAX_VALUE);
    }
    return parser.getLongValue();
  }

  private String string(JsonParser parser, String member) throws IOException {
    if (parser.currentToken() != JsonToken.VALUE_STRING) {
      throw Json.wrong(parser, place() + "." + member, "a string");
    }
    return parser.getText();
  }

  private void refuseSecond(@Nullable Object first, String member) {
    if (first != null) {
      throw Json.duplicate(place() + "." + member);
    }
  }

  private int declaration(String wanted) {
    List<TensorSpec> specs = model.inputs();
    for (int i = 0; i < specs.size(); i++) {
      if (specs.get(i).name().equals(wanted)) {
        return i;
      }
    }
    throw Json.invalid(
        place()
            + ": the model has no input \""
            + Json.shorten(wanted)
            + "\"; its inputs are "
            + specs.stream().map(TensorSpec::name).collect(Collectors.joining(", ", "[", "]")));
  }

  private static StatusException fault(TensorSpec spec, String what) {
    return Json.invalid(TensorShapes.label(spec) + what);
  }

  private String place() {
    return "inputs[" + index + "]";
  }
}
