package io.pipelane.loadgen.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.loadgen.result.ErrorCount;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.ModelReport;
import io.pipelane.loadgen.result.SendCounts;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** A report as JSON for programs: times in microseconds, spans in seconds. */
public final class JsonReport {
  private static final double NANOS_PER_MICROSECOND = 1e3;

  private final ObjectMapper json = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  /**
   * Writes a report.
   *
   * @param flags every option with its value, given or not
   */
  public void write(
      Path file, Map<String, @Nullable Object> flags, long seed, Machine machine, LoadReport report)
      throws IOException {
    json.writeValue(file.toFile(), tree(flags, seed, machine, report));
  }

  ObjectNode tree(
      Map<String, @Nullable Object> flags, long seed, Machine machine, LoadReport report) {
    ObjectNode root = json.createObjectNode();
    root.set("flags", json.valueToTree(flags));
    root.put("seed", seed);
    root.putObject("machine")
        .put("cores", machine.cores())
        .put("processor", machine.processor())
        .put("operating_system", machine.operatingSystem())
        .put("java", machine.java());
    root.put("window_seconds", seconds(report.window()));
    root.putObject("client_cpu")
        .put("process_seconds", seconds(report.cpu().process()))
        .put("load_thread_seconds", seconds(report.cpu().loadThread()));
    SendCounts sends = report.sends();
    root.putObject("sends")
        .put("sent", sends.sent())
        .put("late", sends.late())
        .put("late_by_generator", sends.lateByGenerator())
        .put("unsent", sends.unsent())
        .put("reconnects", sends.reconnects());
    root.set("total", model(report.total()));
    var models = root.putArray("models");
    report.models().forEach(model -> models.add(model(model)));
    var warnings = root.putArray("warnings");
    report.warnings().forEach(warnings::add);
    return root;
  }

  private ObjectNode model(ModelReport model) {
    ObjectNode node = json.createObjectNode();
    node.put("model", model.model());
    node.put("answered", model.answered());
    node.put("answers_per_second", model.perSecond());
    node.put("errors", model.errorCount());
    var errors = node.putArray("error_kinds");
    for (ErrorCount error : model.errors()) {
      errors
          .addObject()
          .put("kind", error.kind())
          .put("count", error.count())
          .put("first_message", error.firstMessage());
    }
    node.set("response_time_us", latency(model.responseNanos()));
    node.set("service_time_us", latency(model.serviceNanos()));
    return node;
  }

  private ObjectNode latency(Histogram nanos) {
    LatencySummary summary = LatencySummary.of(nanos);
    ObjectNode node = json.createObjectNode();
    node.put("mean", summary.mean() / NANOS_PER_MICROSECOND);
    for (int i = 0; i < LatencySummary.PERCENTILES.size(); i++) {
      node.put(
          LatencySummary.name(LatencySummary.PERCENTILES.get(i)),
          summary.percentiles().get(i) / NANOS_PER_MICROSECOND);
    }
    node.put("max", summary.max() / NANOS_PER_MICROSECOND);
    return node;
  }

  private static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }
}
