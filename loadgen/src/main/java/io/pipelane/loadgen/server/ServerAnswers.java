package io.pipelane.loadgen.server;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.loadgen.request.ModelMetadata;
import io.pipelane.loadgen.request.TensorMetadata;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * A reader of a server's answers; a member that is missing is an {@link IllegalArgumentException}.
 */
final class ServerAnswers {
  private ServerAnswers() {}

  static ModelMetadata metadata(String name, String version, JsonNode answer) {
    return new ModelMetadata(
        name, version, tensors(member(answer, "inputs")), tensors(answer.path("outputs")));
  }

  private static List<TensorMetadata> tensors(JsonNode declared) {
    List<TensorMetadata> tensors = new ArrayList<>();
    for (JsonNode tensor : declared) {
      List<Long> shape = new ArrayList<>();
      member(tensor, "shape").forEach(dimension -> shape.add(dimension.asLong()));
      tensors.add(
          new TensorMetadata(
              member(tensor, "name").asText(), member(tensor, "datatype").asText(), shape));
    }
    return tensors;
  }

  static List<String> readyModels(JsonNode index) {
    TreeSet<String> names = new TreeSet<>();
    for (JsonNode version : index) {
      if (version.path("state").asText("READY").equals("READY")) {
        names.add(member(version, "name").asText());
      }
    }
    return List.copyOf(names);
  }

  static ServerDescription description(JsonNode answer) {
    return new ServerDescription(answer.path("name").asText(), answer.path("version").asText());
  }

  /** All versions of the model together; nothing where none is told of. */
  static Optional<ModelStatistics> statistics(JsonNode answer) {
    List<ModelStatistics> versions = new ArrayList<>();
    answer.path("model_stats").forEach(version -> versions.add(ofVersion(version)));
    return versions.stream().reduce(ModelStatistics::plus);
  }

  private static ModelStatistics ofVersion(JsonNode version) {
    Map<String, ModelStatistics.Time> times = new LinkedHashMap<>();
    version
        .path("inference_stats")
        .properties()
        .forEach(
            part ->
                times.put(
                    part.getKey(),
                    new ModelStatistics.Time(
                        part.getValue().path("count").asLong(),
                        part.getValue().path("ns").asLong())));
    return new ModelStatistics(
        version.path("inference_count").asLong(), version.path("execution_count").asLong(), times);
  }

  private static JsonNode member(JsonNode node, String name) {
    JsonNode member = node.get(name);
    if (member == null) {
      throw new IllegalArgumentException("\"" + name + "\" is missing");
    }
    return member;
  }
}
