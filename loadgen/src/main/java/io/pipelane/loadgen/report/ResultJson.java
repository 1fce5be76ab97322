package io.pipelane.loadgen.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.loadgen.experiment.Estimate;
import io.pipelane.loadgen.experiment.Experiment;
import io.pipelane.loadgen.experiment.Step;
import io.pipelane.loadgen.settings.ArrivalPattern;
import io.pipelane.loadgen.settings.LoadMode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.TreeMap;

/**
 * An experiment as JSON for programs and for {@link HtmlReport}: times in microseconds, spans in
 * seconds. A figure that there is none of is null, as the latencies of no answers are. The form has
 * a number that changes when figures change their meaning, and not when one is null that was 0.
 */
public final class ResultJson {
  static final String FORM = "pipelane-loadgen";
  static final int FORM_VERSION = 2;

  private final ObjectMapper json = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  /** Writes an experiment. */
  public void write(Path file, Context context, Experiment experiment) throws IOException {
    json.writeValue(file.toFile(), tree(context, experiment));
  }

  /** An experiment as a tree. */
  public ObjectNode tree(Context context, Experiment experiment) {
    ObjectNode root = json.createObjectNode();
    root.put("form", FORM).put("form_version", FORM_VERSION);
    root.put("name", context.name());
    root.put("started", context.started().toString());
    root.set("arguments", json.valueToTree(context.arguments()));
    root.set("flags", json.valueToTree(context.flags()));
    var files = root.putArray("files");
    new TreeMap<>(context.files())
        .forEach((path, digest) -> files.addObject().put("path", path).put("sha256", digest));
    root.put("seed", context.seed());
    root.putObject("server")
        .put("url", context.url().toString())
        .put("name", context.server().name())
        .put("version", context.server().version());
    Machine machine = context.machine();
    root.putObject("machine")
        .put("cores", machine.cores())
        .put("processor", machine.processor())
        .put("memory_bytes", machine.memoryBytes())
        .put("operating_system", machine.operatingSystem())
        .put("java", machine.java())
        .set("gpus", json.valueToTree(machine.gpus()));
    root.putObject("generator")
        .put("version", context.build().version())
        .put("commit", context.build().commit());
    if (context.objective() != null) {
      root.put("objective_us", context.objective().toNanos() / 1e3);
    }
    experiment.highest().ifPresent(highest -> root.put("highest_load", highest));
    experiment.highestMode().ifPresent(mode -> root.put("highest_load_name", mode.description()));
    var failures = root.putArray("failures");
    for (Experiment.Failure failure : experiment.failures()) {
      failures
          .addObject()
          .put("load", failure.mode().description())
          .put("run", failure.run() + 1)
          .put("reason", failure.reason());
    }
    RunJson runs = new RunJson(json, context);
    var steps = root.putArray("steps");
    for (Step step : experiment.steps()) {
      steps.add(step(step, runs));
    }
    return root;
  }

  private ObjectNode step(Step step, RunJson runs) {
    ObjectNode node = json.createObjectNode();
    node.put("load", step.mode().description());
    switch (step.mode()) {
      case LoadMode.Closed closed -> node.put("concurrency", closed.concurrency());
      case LoadMode.Open open -> {
        ArrivalPattern arrivals = open.arrivals();
        node.put("request_rate", arrivals.requestsPerSecond());
        node.put("connections", open.connections());
      }
    }
    ObjectNode summary = node.putObject("summary");
    put(summary, "answers_per_second", step.answersPerSecond(), 1);
    for (double percentile : LatencySummary.PERCENTILES) {
      String name = LatencySummary.name(percentile) + "_us";
      put(summary, name, step.responseNanos(percentile), 1e3);
    }
    summary.put("stable", step.isStable());
    summary.put("generator_was_the_bottleneck", step.isBottlenecked());
    var list = node.putArray("runs");
    step.runs().forEach(run -> list.add(runs.tree(run)));
    return node;
  }

  private static void put(ObjectNode to, String name, Estimate estimate, double divisor) {
    ObjectNode node = to.putObject(name);
    if (estimate.runs() == 0) { // JSON has no word for what is no number.
      node.putNull("mean");
      return;
    }
    node.put("mean", estimate.mean() / divisor);
    if (estimate.runs() > 1) {
      node.put("half_width_95", estimate.halfWidth() / divisor);
    }
  }
}
