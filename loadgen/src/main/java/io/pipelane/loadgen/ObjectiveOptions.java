package io.pipelane.loadgen;

import io.pipelane.loadgen.report.ModelClasses;
import java.time.Duration;
import java.util.LinkedHashMap;
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

  ModelClasses classes() {
    return new ModelClasses(classes);
  }
}
