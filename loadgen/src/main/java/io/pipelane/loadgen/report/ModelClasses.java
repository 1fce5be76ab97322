package io.pipelane.loadgen.report;

import io.pipelane.loadgen.result.ErrorCount;
import io.pipelane.loadgen.result.ModelReport;
import io.pipelane.loadgen.result.WarmthSplit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Models that are looked at together, such as online and offline ones.
 *
 * @param byModel the class of each model that has one
 */
public record ModelClasses(Map<String, String> byModel) {
  /** No model has a class. */
  public static final ModelClasses NONE = new ModelClasses(Map.of());

  public ModelClasses {
    byModel = Map.copyOf(byModel);
  }

  /** One report for each class that has models, in the order of their first models. */
  List<ModelReport> reports(List<ModelReport> models) {
    Map<String, List<ModelReport>> members = new LinkedHashMap<>();
    for (ModelReport model : models) {
      String name = byModel.get(model.model());
      if (name != null) {
        members.computeIfAbsent(name, _ -> new ArrayList<>()).add(model);
      }
    }
    return members.entrySet().stream()
        .map(entry -> together(entry.getKey(), entry.getValue()))
        .toList();
  }

  private static ModelReport together(String name, List<ModelReport> models) {
    Histogram response = models.getFirst().responseNanos().copy();
    Histogram service = models.getFirst().serviceNanos().copy();
    for (ModelReport model : models.subList(1, models.size())) {
      response.add(model.responseNanos());
      service.add(model.serviceNanos());
    }
    List<ErrorCount> errors = models.stream().flatMap(model -> model.errors().stream()).toList();
    return new ModelReport(
        name,
        models.stream().mapToLong(ModelReport::answered).sum(),
        models.stream().mapToDouble(ModelReport::perSecond).sum(),
        response,
        service,
        warmth(models),
        errors);
  }

  /** Of the models that the server tells it of; null when there is none. */
  private static @Nullable WarmthSplit warmth(List<ModelReport> models) {
    WarmthSplit sum = null;
    for (ModelReport model : models) {
      WarmthSplit own = model.warmth();
      if (own != null) {
        sum = sum == null ? own : sum.plus(own);
      }
    }
    return sum;
  }
}
