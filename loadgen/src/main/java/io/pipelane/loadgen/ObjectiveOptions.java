package io.pipelane.loadgen;

import io.pipelane.loadgen.report.ModelClasses;
import io.pipelane.loadgen.request.ModelMetadata;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options that say what answers are judged by, and which models together. */
final class ObjectiveOptions {
  @Option(
      names = "--slo",
      paramLabel = "TIME",
      description = "Count the answers within this response time: attainment and goodput.")
  @Nullable Duration objective;

  @Option(
      names = "--class",
      paramLabel = "MODEL=CLASS",
      description = "Models of a class, like online or offline, get figures of their own together.")
  Map<String, String> classes = new LinkedHashMap<>();

  /** Checks what can be checked without a server. */
  void requireConsistent() {
    if (objective != null && !objective.isPositive()) {
      throw new IllegalArgumentException("--slo must be above 0");
    }
  }

  /** Checks that every model that has a class is asked. */
  void requireAsked(List<ModelMetadata> models) {
    for (String model : classes.keySet()) {
      if (models.stream().noneMatch(asked -> asked.name().equals(model))) {
        throw new IllegalArgumentException(
            "--class: \"%s\" is none of the models that are asked: %s"
                .formatted(model, models.stream().map(ModelMetadata::name).toList()));
      }
    }
  }

  ModelClasses classes() {
    return new ModelClasses(classes);
  }
}
