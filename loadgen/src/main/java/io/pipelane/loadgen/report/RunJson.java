package io.pipelane.loadgen.report;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.loadgen.experiment.MeasuredRun;
import io.pipelane.loadgen.result.ErrorCount;
import io.pipelane.loadgen.result.LoadReport;
import io.pipelane.loadgen.result.ModelReport;
import io.pipelane.loadgen.result.Objective;
import io.pipelane.loadgen.result.SendCounts;
import io.pipelane.loadgen.result.Slice;
import io.pipelane.loadgen.result.StabilityReport;
import io.pipelane.loadgen.result.WarmthSplit;
import io.pipelane.loadgen.server.ModelStatistics;
import java.time.Duration;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;
import org.jspecify.annotations.Nullable;

/** One run as JSON. */
final class RunJson {
  private static final double NANOS_PER_MICROSECOND = 1e3;
  private static final int CURVE_TICKS = 5;

  private final ObjectMapper json;
  private final @Nullable Duration objective;
  private final ModelClasses classes;
  private final long firstSeed;

  RunJson(ObjectMapper json, Context context) {
    this.json = json;
    this.objective = context.objective();
    this.classes = context.classes();
    this.firstSeed = context.seed();
  }

  ObjectNode tree(MeasuredRun run) {
    LoadReport report = run.report();
    ObjectNode root = json.createObjectNode();
    root.put("run", run.seed() - firstSeed + 1);
    root.put("seed", run.seed());
    root.put("window_seconds", seconds(report.window()));
    StabilityReport stability = report.stability();
    if (stability != null) {
      root.putObject("stability")
          .put("stable", stability.stable())
          .put("windows", stability.windows());
    }
    root.putObject("client_cpu")
        .put("process_seconds", seconds(report.cpu().process()))
        .put("load_thread_seconds", seconds(report.cpu().loadThread()))
        .put("collecting_seconds", seconds(report.cpu().collecting()));
    root.putObject("pauses")
        .put("count", report.pauses().count())
        .put("total_seconds", seconds(report.pauses().total()))
        .put("longest_seconds", seconds(report.pauses().longest()))
        .put("delay_p99_seconds", seconds(report.pauses().delay()));
    SendCounts sends = report.sends();
    root.putObject("sends")
        .put("sent", sends.sent())
        .put("late", sends.late())
        .put("late_by_generator", sends.lateByGenerator())
        .put("unsent", sends.unsent())
        .put("failed_connects", sends.failedConnects())
        .put("reconnects", sends.reconnects());
    root.set("generator_lag_us", latency(report.lagNanos()));
    root.set("bottlenecks", json.valueToTree(report.bottlenecks()));
    root.set("warnings", json.valueToTree(report.warnings()));
    ObjectNode total = model(report.total(), report.window());
    total.set("response_curve", curve(report.total().responseNanos()));
    total.set("service_curve", curve(report.total().serviceNanos()));
    root.set("total", total);
    var models = root.putArray("models");
    for (ModelReport model : report.models()) {
      ObjectNode node = model(model, report.window());
      ModelStatistics counted = run.server().get(model.model());
      if (counted != null) {
        node.set("server", server(counted));
      }
      models.add(node);
    }
    var classNodes = root.putArray("classes");
    classes
        .reports(report.models())
        .forEach(members -> classNodes.add(model(members, report.window())));
    var slices = root.putArray("slices");
    report.slices().forEach(slice -> slices.add(slice(slice)));
    return root;
  }

  private ObjectNode model(ModelReport model, Duration window) {
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
    if (objective != null) {
      Objective held = Objective.of(model, objective, window);
      node.put("attainment", held.attainment()).put("goodput", held.goodput());
    }
    node.set("response_time_us", latency(model.responseNanos()));
    node.set("service_time_us", latency(model.serviceNanos()));
    WarmthSplit warmth = model.warmth();
    if (warmth != null) {
      node.set("warm_response_time_us", latency(warmth.warmNanos()));
      node.set("cold_response_time_us", latency(warmth.coldNanos()));
    }
    return node;
  }

  /** A count and its figures, which are null where there is nothing to count. */
  private ObjectNode latency(Histogram nanos) {
    LatencySummary summary = LatencySummary.of(nanos);
    ObjectNode node = json.createObjectNode();
    node.put("count", nanos.getTotalCount());
    node.put("mean", micros(nanos, summary.mean()));
    for (int i = 0; i < LatencySummary.PERCENTILES.size(); i++) {
      node.put(
          LatencySummary.name(LatencySummary.PERCENTILES.get(i)),
          micros(nanos, summary.percentiles().get(i)));
    }
    node.put("max", micros(nanos, summary.max()));
    return node;
  }

  private static @Nullable Double micros(Histogram of, double nanos) {
    return of.getTotalCount() == 0 ? null : nanos / NANOS_PER_MICROSECOND;
  }

  /** Pairs of a percentile and its latency, denser towards the tail. */
  private ArrayNode curve(Histogram nanos) {
    var curve = json.createArrayNode();
    if (nanos.getTotalCount() == 0) {
      return curve;
    }
    for (HistogramIterationValue point : nanos.percentiles(CURVE_TICKS)) {
      curve
          .addArray()
          .add(point.getPercentileLevelIteratedTo())
          .add(point.getValueIteratedTo() / NANOS_PER_MICROSECOND);
    }
    return curve;
  }

  private ObjectNode server(ModelStatistics counted) {
    ObjectNode node = json.createObjectNode();
    node.put("inferences", counted.inferences());
    node.put("executions", counted.executions());
    ObjectNode means = node.putObject("mean_us");
    counted.times().entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach(
            part -> means.put(part.getKey(), part.getValue().meanNanos() / NANOS_PER_MICROSECOND));
    return node;
  }

  private ObjectNode slice(Slice slice) {
    Histogram nanos = slice.responseNanos();
    return json.createObjectNode()
        .put("start_seconds", seconds(slice.start()))
        .put("seconds", seconds(slice.length()))
        .put("answers", slice.answers())
        .put("errors", slice.errors())
        .put("cold", slice.cold())
        .put("count", nanos.getTotalCount())
        .put("p50", micros(nanos, (double) nanos.getValueAtPercentile(50)))
        .put("p99", micros(nanos, (double) nanos.getValueAtPercentile(99)))
        .put("max", micros(nanos, (double) nanos.getMaxValue()));
  }

  private static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }
}
