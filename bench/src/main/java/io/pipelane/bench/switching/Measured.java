package io.pipelane.bench.switching;

import io.pipelane.bench.measure.Samples;
import io.pipelane.modelstore.Plan;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The measurements of one model: samples by row, and figures that are no latency. */
final class Measured {
  private final Map<Row, Samples> rows = new LinkedHashMap<>();
  private final Map<String, Double> facts = new LinkedHashMap<>();
  private final Map<String, List<List<Long>>> plans = new LinkedHashMap<>();

  /** The samples of a row, none at first. */
  Samples of(Row row) {
    return rows.computeIfAbsent(row, _ -> new Samples());
  }

  /** A row's median, where it was measured. */
  Optional<Double> median(Row row) {
    return Optional.ofNullable(rows.get(row)).filter(s -> s.count() > 0).map(Samples::median);
  }

  /** Notes a figure; its name ends with its unit. */
  void fact(String name, double value) {
    facts.put(name, value);
  }

  Optional<Double> fact(String name) {
    return Optional.ofNullable(facts.get(name));
  }

  /**
   * Notes the bytes and nanoseconds of each stretch of the model.
   *
   * @param cut how it was cut, in a word
   */
  void plan(String cut, Plan plan, List<Long> nanos) {
    List<List<Long>> stretches = new ArrayList<>();
    for (int i = 0; i < nanos.size(); i++) {
      stretches.add(List.of(plan.segments().get(i).byteSize(), nanos.get(i)));
    }
    plans.put(cut, stretches);
  }

  /** What {@link #plan} noted, by cut. */
  Map<String, List<List<Long>>> plans() {
    return plans;
  }

  Map<Row, Samples> rows() {
    return rows;
  }

  Map<String, Double> facts() {
    return facts;
  }
}
