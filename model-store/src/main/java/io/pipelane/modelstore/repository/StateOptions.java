package io.pipelane.modelstore.repository;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.StateInput;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A reader of {@code state} in {@code pipelane.yaml}. */
final class StateOptions {
  private static final int MAXIMUM_STATES = 1024;
  private static final int MAXIMUM_DIMENSIONS = 16;

  /** What stands for a request's rows. */
  private static final String ROWS = "rows";

  private StateOptions() {}

  /** The inputs that are state, by the outputs that they come from. */
  static Map<String, StateInput> of(JsonNode node) {
    Map<String, StateInput> state = new HashMap<>();
    if (node.isMissingNode()) {
      return state;
    }
    if (!node.isObject() || node.size() > MAXIMUM_STATES) {
      throw ModelOptionsFile.refused(
          "state must be OUTPUT: INPUT, %d times at most".formatted(MAXIMUM_STATES));
    }
    for (Map.Entry<String, JsonNode> pair : node.properties()) {
      state.put(pair.getKey(), input(pair.getKey(), pair.getValue()));
    }
    return state;
  }

  private static StateInput input(String output, JsonNode node) {
    if (node.isTextual()) {
      return new StateInput(node.asText());
    }
    if (!node.isObject() || !node.path("input").isTextual()) {
      throw ModelOptionsFile.refused(
          "state of output \"%s\" must be an input's name, or {input: NAME, begins: [SIZE, ...]}"
              .formatted(output));
    }
    String prefix = "state." + output + ".";
    ModelOptionsFile.checkKeys(node, prefix, Set.of("input", "begins"));
    return new StateInput(
        node.path("input").asText(), sizes(prefix + "begins", node.path("begins")));
  }

  private static List<Long> sizes(String key, JsonNode node) {
    List<Long> sizes = new ArrayList<>();
    if (node.isMissingNode()) {
      return sizes;
    }
    if (!node.isArray() || node.isEmpty() || node.size() > MAXIMUM_DIMENSIONS) {
      throw refused(key, node);
    }
    for (JsonNode size : node) {
      if (size.isTextual() && size.asText().equals(ROWS)) {
        sizes.add(StateInput.ROWS);
      } else if (size.isIntegralNumber() && size.canConvertToLong() && size.asLong() >= 0) {
        sizes.add(size.asLong());
      } else {
        throw refused(key, node);
      }
    }
    return sizes;
  }

  private static StatusException refused(String key, JsonNode node) {
    return ModelOptionsFile.refused(
        "%s is %s; allowed are 1 to %d sizes, each 0 or more, or rows"
            .formatted(key, node, MAXIMUM_DIMENSIONS));
  }
}
