package io.pipelane.loadgen.request;

import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.loadgen.file.JsonComplaint;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A reader of perf_analyzer's form of examples: {@code {"data": [{"<input>": ...}, ...],
 * "validation_data": [{"<output>": ...}, ...]}}, where a tensor is an array, or {@code {"content":
 * [...], "shape": [...]}}, or {@code {"b64": "..."}} with the bytes.
 */
final class ExampleJson {
  /** As Python's json module writes numbers: NaN and Infinity without quotes. */
  private static final JsonMapper JSON =
      JsonMapper.builder().enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS).build();

  private final Map<String, List<Long>> shapes;

  ExampleJson(Map<String, List<Long>> shapes) {
    this.shapes = shapes;
  }

  List<Example> read(ModelMetadata model, byte[] file) {
    try {
      JsonNode root = JSON.readTree(file);
      List<Example> examples = new ArrayList<>();
      JsonNode data = root.path("data");
      JsonNode validation = root.path("validation_data");
      for (int i = 0; i < data.size(); i++) {
        examples.add(
            new Example(
                tensors(model, model.inputs(), data.get(i), true),
                tensors(model, model.outputs(), validation.path(i), false)));
      }
      if (examples.isEmpty()) {
        throw new IllegalArgumentException("\"data\" holds nothing");
      }
      return examples;
    } catch (IOException | IllegalArgumentException e) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "--input-data: no examples for \"" + model.name() + "\": " + JsonComplaint.of(e),
          e);
    }
  }

  private List<TensorValue> tensors(
      ModelMetadata model, List<TensorMetadata> declared, JsonNode example, boolean all) {
    List<TensorValue> tensors = new ArrayList<>();
    for (TensorMetadata tensor : declared) {
      JsonNode value = example.get(tensor.name());
      if (value != null) {
        tensors.add(InputShapes.requireFit(model.name(), tensor, tensor(model, tensor, value)));
      } else if (all) {
        throw new IllegalArgumentException("an example lacks input \"" + tensor.name() + "\"");
      }
    }
    return tensors;
  }

  private TensorValue tensor(ModelMetadata model, TensorMetadata tensor, JsonNode value) {
    Datatype type = Datatype.of(tensor);
    ByteBuffer data =
        value.has("b64")
            ? ByteBuffer.wrap(Base64.getDecoder().decode(value.get("b64").asText()))
                .order(ByteOrder.LITTLE_ENDIAN)
            : JsonElements.read(value.has("content") ? value.get("content") : value, type);
    JsonNode shape = value.get("shape");
    return new TensorValue(tensor.name(), type, shape(model, tensor, shape), data);
  }

  private List<Long> shape(ModelMetadata model, TensorMetadata tensor, @Nullable JsonNode shape) {
    if (shape == null) {
      return InputShapes.concrete(shapes, model.name(), tensor, 0);
    }
    List<Long> dimensions = new ArrayList<>();
    shape.forEach(dimension -> dimensions.add(dimension.asLong()));
    return dimensions;
  }
}
