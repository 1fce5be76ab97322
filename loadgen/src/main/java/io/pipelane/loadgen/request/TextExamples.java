package io.pipelane.loadgen.request;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Examples made of a text, one of each line: as it is for a model that takes strings, as tokens for
 * one that takes {@code input_ids} and what goes with them.
 */
final class TextExamples {
  private static final int MAXIMUM_LINES = 10_000;
  private static final int MAXIMUM_TOKENS = 512;

  private final Map<String, List<Long>> shapes;

  TextExamples(Map<String, List<Long>> shapes) {
    this.shapes = shapes;
  }

  static boolean isText(Path file) {
    return ExampleFiles.ending(file).equals("txt");
  }

  /**
   * Reads all lines that are not empty.
   *
   * @param tokenizer the file of the model's tokenizer
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the model does not take texts
   */
  List<Example> read(ModelMetadata model, Path file, Path tokenizer) throws IOException {
    List<String> lines = new ArrayList<>(Files.readAllLines(file));
    lines.removeIf(String::isBlank);
    if (lines.isEmpty() || lines.size() > MAXIMUM_LINES) {
      throw new IOException(lines.size() + " lines, not 1 to " + MAXIMUM_LINES);
    }
    if (model.inputs().size() == 1 && Datatype.of(model.inputs().getFirst()) == Datatype.BYTES) {
      return lines.stream().map(line -> string(model, line)).toList();
    }
    try (Tokenizer tokens = Tokenizer.open(tokenizer, MAXIMUM_TOKENS)) {
      return lines.stream().map(line -> tokens(model, tokens.encode(line))).toList();
    }
  }

  private static Example string(ModelMetadata model, String line) {
    TensorMetadata input = model.inputs().getFirst();
    byte[] bytes = line.getBytes(StandardCharsets.UTF_8);
    ByteBuffer data =
        ByteBuffer.allocate(Integer.BYTES + bytes.length).order(ByteOrder.LITTLE_ENDIAN);
    data.putInt(bytes.length).put(bytes).flip();
    List<Long> shape = input.shape().stream().map(_ -> 1L).toList();
    TensorValue value = new TensorValue(input.name(), Datatype.BYTES, shape, data);
    return new Example(List.of(InputShapes.requireFit(model.name(), input, value)), List.of());
  }

  private Example tokens(ModelMetadata model, Tokenizer.Tokens tokens) {
    List<TensorValue> inputs = new ArrayList<>();
    for (TensorMetadata input : model.inputs()) {
      List<Long> values =
          switch (input.name()) {
            case "input_ids" -> tokens.ids();
            case "attention_mask" -> tokens.mask();
            case "token_type_ids" -> tokens.types();
            default ->
                throw new StatusException(
                    Status.INVALID_ARGUMENT,
                    "--input-data: text does not fit model \"%s\": its input \"%s\" is none of"
                            .formatted(model.name(), input.name())
                        + " input_ids, attention_mask and token_type_ids");
          };
      inputs.add(InputShapes.requireFit(model.name(), input, tensor(model, input, values)));
    }
    return new Example(inputs, List.of());
  }

  /** One row, cut or filled up with zeros where the model or a shape asked for says how long. */
  private TensorValue tensor(ModelMetadata model, TensorMetadata input, List<Long> values) {
    List<Long> asked = InputShapes.asked(shapes, model.name(), input);
    boolean isOpen = asked.size() != 2 || asked.get(1) < 0;
    int length = isOpen ? values.size() : Math.toIntExact(Math.min(asked.get(1), MAXIMUM_TOKENS));
    Datatype type = Datatype.of(input);
    ByteBuffer data = ByteBuffer.allocate(length * type.width()).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < length; i++) {
      long value = i < values.size() ? values.get(i) : 0;
      switch (type) {
        case INT64 -> data.putLong(value);
        case INT32 -> data.putInt((int) value);
        case BOOL, INT8, INT16, UINT8, UINT16, UINT32, UINT64, FP16, BF16, FP32, FP64, BYTES ->
            throw new StatusException(
                Status.INVALID_ARGUMENT,
                "--input-data: tokens are INT64 or INT32, input \"%s\" of \"%s\" is %s"
                    .formatted(input.name(), model.name(), type));
      }
    }
    return new TensorValue(input.name(), type, List.of(1L, (long) length), data.flip());
  }
}
