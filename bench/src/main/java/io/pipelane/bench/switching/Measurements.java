package io.pipelane.bench.switching;

import io.pipelane.bench.grouping.RecordedPlans;
import io.pipelane.bench.grouping.RecordedPlans.Model;
import io.pipelane.switcher.grouping.PipelineCosts;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The measurements of all models, in order. */
final class Measurements {
  private final Map<String, Measured> models = new LinkedHashMap<>();

  /** A model's figures, none at first. */
  Measured of(String model) {
    return models.computeIfAbsent(model, _ -> new Measured());
  }

  Map<String, Measured> models() {
    return models;
  }

  /** Every row that any model has, in the order of the first model that has it. */
  Set<Row> rows() {
    Set<Row> rows = new LinkedHashSet<>();
    models.values().forEach(measured -> rows.addAll(measured.rows().keySet()));
    return rows;
  }

  /** Every figure's name that any model has. */
  Set<String> facts() {
    Set<String> names = new LinkedHashSet<>();
    models.values().forEach(measured -> names.addAll(measured.facts().keySet()));
    return names;
  }

  List<String> names() {
    return List.copyOf(models.keySet());
  }

  /** The models' segments and layers, as they were measured on a device. */
  RecordedPlans plans(String device, String how, PipelineCosts costs) {
    List<RecordedPlans.Model> recorded = new ArrayList<>();
    models.forEach(
        (name, measured) ->
            measured
                .plans()
                .forEach((cut, layers) -> recorded.add(new Model(name + ", " + cut, layers))));
    return RecordedPlans.of(device, how, costs, recorded);
  }
}
