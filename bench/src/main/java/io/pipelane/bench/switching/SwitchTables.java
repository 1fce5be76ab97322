package io.pipelane.bench.switching;

import io.pipelane.bench.measure.Samples;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** The measurements as tables: a row a way, a column a model. */
final class SwitchTables {
  /** The figure's name of the lower bound. */
  static final String LOWER_BOUND = "lower_bound_ms";

  /** The same with the request's inputs before and its outputs after. */
  static final String LOWER_BOUND_OF_REQUEST = "lower_bound_of_request_ms";

  /** What is measured in both isolations, as figures name it. */
  static final String WARM = "warm";

  static final String COLD = "cold";
  static final String RUN = "run";

  private static final double P99 = 0.99;
  private static final String NONE = "-";

  private final Measurements all;

  SwitchTables(Measurements all) {
    this.all = all;
  }

  /** The name of the bound with inputs and outputs where a share of the weights is resident. */
  static String lowerBoundOfRequest(double share) {
    return String.format(Locale.ROOT, "lower_bound_of_request_%.1f_resident_ms", 100 * share);
  }

  /** Latencies in milliseconds, medians with means behind them in brackets. */
  List<List<String>> latencies(Predicate<Row> wanted) {
    List<List<String>> table = heading("milliseconds");
    for (Row row : all.rows()) {
      if (wanted.test(row)) {
        table.add(line(row.label(), (name, measured) -> latency(measured.rows().get(row))));
      }
    }
    return table;
  }

  private static String latency(@Nullable Samples samples) {
    return samples == null || samples.count() == 0
        ? NONE
        : number(samples.median()) + " (" + number(samples.mean()) + ")";
  }

  /** What follows from the latencies, beside what is aimed at where something is. */
  List<List<String>> comparison() {
    List<List<String>> table = heading("");
    table.add(line("warm, ms", (name, m) -> cell(m.median(Row.WARM), aim(name, "≤", Aim::warm))));
    table.add(
        line(
            "cold, nothing resident, minus warm, ms",
            (name, m) ->
                cell(
                    minus(m.median(Row.COLD), m.median(Row.WARM)),
                    Aim.of(name).flatMap(Aim::coldOverWarm).map(v -> "≤ " + number(v)))));
    table.add(
        line(
            "cold minus the copy alone, ms",
            (name, m) ->
                cell(
                    minus(m.median(Row.COLD), m.median(Row.COPY)),
                    Aim.of(name).flatMap(Aim::coldOverCopy).map(v -> "≤ " + number(v)))));
    table.add(
        line(
            "lower bound of any pipeline, ms",
            (name, m) -> cell(m.fact(LOWER_BOUND), Optional.empty())));
    table.add(
        line(
            "cold / lower bound",
            (name, m) ->
                cell(
                    ratio(m.median(Row.COLD), m.fact(LOWER_BOUND)),
                    aim(name, "≤", Aim::coldToBound))));
    table.add(
        line(
            "cold / lower bound with inputs and outputs",
            (name, m) ->
                cell(ratio(m.median(Row.COLD), m.fact(LOWER_BOUND_OF_REQUEST)), Optional.empty())));
    table.add(
        line(
            "warm / plain session, warm",
            (name, m) -> cell(ratio(m.median(Row.WARM), m.median(Row.PLAIN)), Optional.empty())));
    table.add(
        line(
            "HTTP minus in-process, ms",
            (name, m) -> cell(minus(m.median(Row.HTTP), m.median(Row.WARM)), Optional.empty())));
    table.add(
        line(
            "HTTP minus in-process minus echo, ms",
            (name, m) ->
                cell(
                    minus(minus(m.median(Row.HTTP), m.median(Row.WARM)), m.median(Row.ECHO)),
                    Optional.of("≤ 0.50"))));
    return table;
  }

  /** What worker processes cost: medians and 99th percentiles; nothing where it is not measured. */
  List<List<String>> isolation() {
    List<List<String>> table = heading("milliseconds, p50 / p99");
    for (Row row : all.rows()) {
      if (Row.ISOLATION.contains(row)) {
        table.add(line(row.label(), (name, m) -> quantiles(m.rows().get(row))));
      }
    }
    if (table.size() > 1) {
      table.add(line("process minus thread, warm (CPU: p50 ≤ 0.060)", added(WARM)));
      table.add(line("process minus thread, cold (ResNet-152, H200: p50 ≤ 0.150)", added(COLD)));
      table.add(line("process minus thread, the run alone", added(RUN)));
    }
    return table;
  }

  private static String quantiles(@Nullable Samples samples) {
    return samples == null || samples.count() == 0
        ? NONE
        : fine(samples.median()) + " / " + fine(samples.quantile(P99));
  }

  private static BiFunction<String, Measured, String> added(String what) {
    return (name, measured) ->
        measured
            .fact(IsolationRounds.added(what, "p50"))
            .flatMap(
                median ->
                    measured
                        .fact(IsolationRounds.added(what, "p99"))
                        .map(p99 -> fine(median) + " / " + fine(p99)))
            .orElse(NONE);
  }

  private static String fine(double value) {
    return String.format(Locale.ROOT, "%.3f", value);
  }

  /** Figures that are no latency. */
  List<List<String>> facts() {
    List<List<String>> table = heading("");
    for (String fact : all.facts()) {
      table.add(line(fact, (name, m) -> cell(m.fact(fact), Optional.empty())));
    }
    return table;
  }

  private List<List<String>> heading(String first) {
    List<String> heading = new ArrayList<>(List.of(first));
    heading.addAll(all.names());
    List<List<String>> table = new ArrayList<>();
    table.add(heading);
    return table;
  }

  private List<String> line(String label, BiFunction<String, Measured, String> cell) {
    List<String> line = new ArrayList<>(List.of(label));
    all.models().forEach((name, measured) -> line.add(cell.apply(name, measured)));
    return line;
  }

  private static Optional<String> aim(String model, String sign, ToDoubleFunction<Aim> value) {
    return Aim.of(model).map(aim -> sign + " " + number(value.applyAsDouble(aim)));
  }

  private static String cell(Optional<Double> value, Optional<String> aim) {
    return value.map(v -> number(v) + aim.map(a -> " (" + a + ")").orElse("")).orElse(NONE);
  }

  private static Optional<Double> minus(Optional<Double> a, Optional<Double> b) {
    return a.flatMap(x -> b.map(y -> x - y));
  }

  private static Optional<Double> ratio(Optional<Double> a, Optional<Double> b) {
    return a.flatMap(x -> b.map(y -> x / y));
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, Math.abs(value) < 1000 ? "%.2f" : "%.0f", value);
  }
}
