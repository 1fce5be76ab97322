package io.pipelane.server.metrics;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.metrics.MetricFamily.Counter;
import io.pipelane.server.metrics.MetricFamily.Gauge;
import io.pipelane.server.metrics.MetricFamily.Histogram;
import io.pipelane.server.metrics.MetricFamily.Named;
import io.pipelane.server.statistics.ModelCounters;
import io.pipelane.server.statistics.ModelCounters.Failure;
import io.pipelane.server.statistics.ModelCounters.Objective;
import io.pipelane.switcher.schedule.queue.QueueOverview;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The metrics of inferences: under Triton's names where it has one, and our own. */
final class InferenceMetrics {
  private static final double NANOS_A_MICRO = 1e3;
  private static final double NANOS_A_SECOND = 1e9;

  private final List<ModelCounters> models;
  private final Map<ModelVersion, Integer> waiting;
  private final List<MetricFamily> families = new ArrayList<>();

  private InferenceMetrics(List<ModelCounters> models, Map<ModelVersion, Integer> waiting) {
    this.models = models;
    this.waiting = waiting;
  }

  /**
   * All of them.
   *
   * @param queues what waits for each device
   */
  static List<MetricFamily> of(List<ModelCounters> models, Stream<QueueOverview> queues) {
    Map<ModelVersion, Integer> waiting =
        queues
            .flatMap(queue -> queue.byModel().entrySet().stream())
            .collect(
                Collectors.groupingBy(
                    entry -> entry.getKey().anyEdition(),
                    Collectors.summingInt(Map.Entry::getValue)));
    InferenceMetrics metrics = new InferenceMetrics(models, waiting);
    metrics.addTritons();
    metrics.addOurs();
    metrics.addObjectives();
    return metrics.families;
  }

  private void addTritons() {
    named("request_success", "Requests answered", model -> model.success().count());
    Named failures = new Named("nv_inference_request_failure", "Requests that failed, by reason");
    for (ModelCounters model : models) {
      for (Failure reason : Failure.values()) {
        failures.add(model.failures(reason), labels(model, "reason", reason.name()));
      }
    }
    families.add(failures);
    named("count", "Inferences: rows of the requests answered", ModelCounters::inferences);
    named("exec_count", "Executions, each of one batch", ModelCounters::executions);
    Gauge pending =
        new Gauge("nv_inference_pending_request_count", "Requests that wait for a lane");
    models.forEach(model -> pending.add(waiting.getOrDefault(model.version(), 0), labels(model)));
    families.add(pending);
    micros("request", "Requests, decoding to encoding", model -> model.success().nanos());
    micros("queue", "Waiting for a lane", model -> model.queue().nanos());
    micros("compute_input", "Decoding", model -> model.decode().nanos());
    micros("compute_infer", "Runs, stalls included", model -> model.execute().nanos());
    micros(
        "compute_output",
        "Handing outputs over and encoding them",
        model -> model.encode().nanos());
  }

  private void addOurs() {
    Gauge underWay =
        new Gauge("pipelane_requests_under_way", "Requests that have begun and not been answered");
    models.forEach(model -> underWay.add(model.pending(), labels(model)));
    families.add(underWay);
    Counter stalls =
        new Counter("pipelane_stalled_requests", "Requests whose run waited for weights");
    Counter stallSeconds =
        new Counter("pipelane_stall_seconds", "Time that runs waited for weights");
    Histogram durations =
        new Histogram(
            "pipelane_request_duration_seconds", "Requests answered, decoding to encoding");
    Histogram stallDurations =
        new Histogram(
            "pipelane_stall_duration_seconds", "How long runs that waited for weights waited");
    for (ModelCounters model : models) {
      stalls.add(model.stall().count(), labels(model));
      stallSeconds.add(model.stall().nanos() / NANOS_A_SECOND, labels(model));
      durations.add(model.durations(), labels(model));
      stallDurations.add(model.stallDurations(), labels(model));
    }
    families.addAll(List.of(stalls, stallSeconds, durations, stallDurations));
  }

  private void addObjectives() {
    Counter objectives =
        new Counter(
            "pipelane_slo_requests",
            "Requests that had to be answered by a time, by what became of them");
    Counter goodput =
        new Counter("pipelane_goodput_requests", "Requests answered in time, or without any limit");
    Gauge attainment =
        new Gauge(
            "pipelane_slo_attainment",
            "Share of the admitted requests with a time that were answered by it");
    for (ModelCounters model : models) {
      for (Objective outcome : Objective.values()) {
        String name = outcome.name().toLowerCase(Locale.ROOT);
        objectives.add(model.objectives(outcome), labels(model, "outcome", name));
      }
      goodput.add(model.answeredInTime(), labels(model));
      model.attainment().ifPresent(share -> attainment.add(share, labels(model)));
    }
    families.addAll(List.of(objectives, goodput, attainment));
  }

  private void micros(String name, String help, ToDoubleFunction<ModelCounters> nanos) {
    named(
        name + "_duration_us",
        help + ", in microseconds",
        model -> Math.floor(nanos.applyAsDouble(model) / NANOS_A_MICRO));
  }

  private void named(String name, String help, ToDoubleFunction<ModelCounters> value) {
    Named family = new Named("nv_inference_" + name, help);
    models.forEach(model -> family.add(value.applyAsDouble(model), labels(model)));
    families.add(family);
  }

  private static String[] labels(ModelCounters model, String... more) {
    List<String> labels = new ArrayList<>();
    labels.addAll(List.of("model", model.version().model()));
    labels.addAll(List.of("version", Long.toString(model.version().version())));
    labels.addAll(List.of(more));
    return labels.toArray(String[]::new);
  }
}
