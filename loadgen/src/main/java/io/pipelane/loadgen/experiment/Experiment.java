package io.pipelane.loadgen.experiment;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;

/**
 * What came of a plan.
 *
 * @param highest the highest load that held the limit, where it was searched for; 0 for none
 */
public record Experiment(List<Step> steps, OptionalDouble highest) {
  public Experiment {
    steps = List.copyOf(steps);
  }

  /** Carries out a plan. */
  public static Experiment run(LoadPlan plan, Measurement measurement) throws InterruptedException {
    return switch (plan) {
      case LoadPlan.Sweep sweep -> sweep(sweep, measurement);
      case LoadPlan.Search search -> search(search, measurement);
    };
  }

  private static Experiment sweep(LoadPlan.Sweep sweep, Measurement measurement)
      throws InterruptedException {
    List<Step> steps = new ArrayList<>();
    for (var mode : sweep.modes()) {
      Step step = measurement.measure(mode);
      steps.add(step);
      if (sweep.limit() != null && !sweep.limit().holds(step)) {
        break;
      }
    }
    return new Experiment(steps, OptionalDouble.empty());
  }

  private static Experiment search(LoadPlan.Search plan, Measurement measurement)
      throws InterruptedException {
    List<Step> steps = new ArrayList<>();
    RateSearch search = new RateSearch(plan.range());
    for (OptionalDouble load = search.next(); load.isPresent(); load = search.next()) {
      Step step = measurement.measure(plan.mode().apply(load.getAsDouble()));
      steps.add(step);
      search.tried(load.getAsDouble(), plan.limit().holds(step));
    }
    return new Experiment(steps, OptionalDouble.of(search.highest()));
  }
}
