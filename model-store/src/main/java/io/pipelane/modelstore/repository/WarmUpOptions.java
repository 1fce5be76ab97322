package io.pipelane.modelstore.repository;

import static io.pipelane.modelstore.repository.ModelOptionsFile.checkKeys;
import static io.pipelane.modelstore.repository.ModelOptionsFile.integer;
import static io.pipelane.modelstore.repository.ModelOptionsFile.refused;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.config.value.ModelName;
import io.pipelane.runtime.Shape;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The requests that {@code warm-up} of a {@code pipelane.yaml} asks for, where it lists any. */
final class WarmUpOptions {
  private static final int MAXIMUM_RANK = 16;

  private WarmUpOptions() {}

  /**
   * The requests; none where it is no list.
   *
   * @throws io.pipelane.config.StatusException naming key, value and what is allowed
   */
  static List<WarmUp> of(JsonNode node) {
    List<WarmUp> requests = new ArrayList<>();
    if (!node.isArray()) {
      return requests;
    }
    for (JsonNode request : node) {
      requests.add(request(request, "warm-up[" + requests.size() + "]"));
      if (WarmUp.runs(requests) > WarmUp.MOST_RUNS) {
        throw refused("warm-up asks for more than " + WarmUp.MOST_RUNS + " runs in all");
      }
    }
    return requests;
  }

  private static WarmUp request(JsonNode node, String key) {
    checkKeys(node, key + ".", Set.of("name", "count", "inputs"));
    JsonNode count = node.path("count");
    int runs = count.isMissingNode() ? 1 : integer(key + ".count", count, WarmUp.MOST_RUNS);
    JsonNode declared = node.path("inputs");
    if (!declared.isObject() || declared.isEmpty()) {
      throw refused(key + ".inputs must be names of inputs, each with shape and data or file");
    }
    List<WarmUp.Input> inputs = new ArrayList<>();
    for (Map.Entry<String, JsonNode> input : declared.properties()) {
      inputs.add(input(input.getKey(), input.getValue(), key + ".inputs." + input.getKey()));
    }
    return new WarmUp(node.path("name").asText(key), runs, inputs);
  }

  private static WarmUp.Input input(String name, JsonNode node, String key) {
    checkKeys(node, key + ".", Set.of("shape", "data", "file"));
    JsonNode shape = node.path("shape");
    if (!shape.isArray() || shape.size() > MAXIMUM_RANK) {
      throw refused(key + ".shape must be a list of dimensions, like [1, 128]");
    }
    long[] dimensions = new long[shape.size()];
    for (int i = 0; i < dimensions.length; i++) {
      dimensions[i] = integer(key + ".shape", shape.get(i), Integer.MAX_VALUE);
    }
    return new WarmUp.Input(name, Optional.empty(), Shape.of(dimensions), data(node, key));
  }

  private static WarmUp.Data data(JsonNode node, String key) {
    JsonNode file = node.path("file");
    if (file.isMissingNode()) {
      return switch (node.path("data").asText()) {
        case "zero" -> new WarmUp.Zeros();
        case "random" -> new WarmUp.MadeUp();
        default ->
            throw refused(
                "%s.data is \"%s\"; allowed are zero and random, or give it a file"
                    .formatted(key, node.path("data").asText()));
      };
    }
    if (node.has("data") || !ModelName.isOne(file.asText())) {
      throw refused(
          "%s.file is \"%s\"; it must be the name of a file in %s, without data beside it"
              .formatted(key, file.asText(), WarmUp.FOLDER));
    }
    return new WarmUp.FromFile(Path.of(file.asText()), 1);
  }
}
