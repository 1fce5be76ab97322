package io.pipelane.server.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorSpec;
import io.pipelane.runtime.TensorType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The value of one input as it is typed: JSON nested to the shape, or flat, or a single value. Text
 * for BYTES needs no quotes, and is JSON only where it is a string or an array of strings.
 */
final class InputArgument {
  private static final long MAX_FILE_BYTES = 1L << 30;

  private final TensorSpec declared;
  private final JsonNode value;

  private InputArgument(TensorSpec declared, JsonNode value) {
    this.declared = declared;
    this.value = value;
  }

  /**
   * Reads a value.
   *
   * @param text the value, or {@code @} and the file that holds it
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when it is not readable
   */
  static InputArgument read(TensorSpec declared, String text) {
    String json = text.startsWith("@") ? content(declared, Path.of(text.substring(1))) : text;
    boolean isText = declared.type() == TensorType.BYTES;
    try {
      JsonNode read = ServerClient.JSON.readTree(json);
      return new InputArgument(
          declared, isText && !isStrings(read) ? TextNode.valueOf(json) : read);
    } catch (JsonProcessingException e) {
      if (isText) {
        return new InputArgument(declared, TextNode.valueOf(json));
      }
      throw invalid(declared, "is no JSON number or array, like 1.5 or [[1, 2], [3, 4]]");
    }
  }

  private static boolean isStrings(JsonNode node) {
    if (!node.isArray()) {
      return node.isTextual();
    }
    for (JsonNode element : node) {
      if (!isStrings(element)) {
        return false;
      }
    }
    return true;
  }

  private static String content(TensorSpec declared, Path file) {
    try {
      if (Files.size(file) > MAX_FILE_BYTES) {
        throw invalid(declared, file + " is larger than 1GiB");
      }
      return Files.readString(file);
    } catch (IOException e) {
      throw invalid(declared, "cannot be read from " + file + ": " + e);
    }
  }

  /** The input as the protocol wants it. */
  ObjectNode toTensor() {
    List<Long> nested = new ArrayList<>();
    for (JsonNode level = value; level != null && level.isArray(); level = level.get(0)) {
      nested.add((long) level.size());
    }
    ArrayNode data = ServerClient.JSON.createArrayNode();
    flatten(value, nested, 0, data);
    boolean asNested = nested.size() == declared.shape().rank() && !nested.isEmpty();
    ObjectNode tensor = ServerClient.JSON.createObjectNode();
    tensor.put("name", declared.name()).put("datatype", declared.type().name());
    ArrayNode shape = tensor.putArray("shape");
    if (asNested) {
      nested.forEach(shape::add);
    } else {
      for (long dimension : shapeOf(data.size()).toArray()) {
        shape.add(dimension);
      }
    }
    tensor.set("data", data);
    return tensor;
  }

  private void flatten(JsonNode node, List<Long> shape, int depth, ArrayNode into) {
    if (depth == shape.size()) {
      if (node.isArray()) {
        throw invalid(declared, "is nested unevenly");
      }
      into.add(node);
      return;
    }
    if (!node.isArray() || node.size() != shape.get(depth)) {
      throw invalid(declared, "is nested unevenly");
    }
    node.forEach(child -> flatten(child, shape, depth + 1, into));
  }

  /** Spreads a flat list over the declared shape: the last open dimension takes what there is. */
  private Shape shapeOf(long elements) {
    long[] shape = declared.shape().toArray();
    long known = 1;
    int open = -1;
    for (int axis = 0; axis < shape.length; axis++) {
      if (shape[axis] < 0) {
        shape[axis] = 1;
        open = axis;
      } else {
        known *= shape[axis];
      }
    }
    if (open >= 0 && known > 0 && elements % known == 0) {
      shape[open] = elements / known;
    } else if (known != elements) {
      throw invalid(declared, "has " + elements + " values, which do not fill the shape");
    }
    return Shape.of(shape);
  }

  private static StatusException invalid(TensorSpec declared, String complaint) {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "input %s (%s %s): the value %s"
            .formatted(declared.name(), declared.type(), declared.shape(), complaint));
  }
}
