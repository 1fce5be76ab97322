package io.pipelane.loadgen.server;

import com.fasterxml.jackson.databind.JsonNode;
import io.pipelane.loadgen.request.ModelMetadata;
import io.pipelane.loadgen.request.TensorMetadata;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Reads a server's answers; a member that is missing is an {@link IllegalArgumentException}. */
final class ServerAnswers {
  private ServerAnswers() {}

  static ModelMetadata metadata(String name, JsonNode answer) {
    return new ModelMetadata(
        name, tensors(member(answer, "inputs")), tensors(answer.path("outputs")));
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
    List<String> extensions = new ArrayList<>();
    answer.path("extensions").forEach(extension -> extensions.add(extension.asText()));
    return new ServerDescription(
        answer.path("name").asText(), answer.path("version").asText(), extensions);
  }

  /** All versions of the model together. */
  static ModelStatistics statistics(JsonNode answer) {
    long inferences = 0;
    long executions = 0;
    Map<String, ModelStatistics.Time> times = new LinkedHashMap<>();
    for (JsonNode version : answer.path("model_stats")) {
      inferences += version.path("inference_count").asLong();
      executions += version.path("execution_count").asLong();
      version
          .path("inference_stats")
          .properties()
          .forEach(
              part ->
                  times.merge(
                      part.getKey(),
                      new ModelStatistics.Time(
                          part.getValue().path("count").asLong(),
                          part.getValue().path("ns").asLong()),
                      (one, other) ->
                          new ModelStatistics.Time(
                              one.count() + other.count(), one.nanos() + other.nanos())));
    }
    return new ModelStatistics(inferences, executions, times);
  }

  private static JsonNode member(JsonNode node, String name) {
    JsonNode member = node.get(name);
    if (member == null) {
      throw new IllegalArgumentException("\"" + name + "\" is missing");
    }
    return member;
  }
}
