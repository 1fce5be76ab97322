package io.pipelane.loadgen.experiment;

import io.pipelane.loadgen.settings.LoadMode;
import java.io.Serial;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What came of a plan.
 *
 * @param highest the highest load that held the limit, where it was searched for; 0 for none
 * @param isGenerators whether the search ended at a load that the generator itself held up, so that
 *     the server may bear more
 */
public record Experiment(List<Step> steps, OptionalDouble highest, boolean isGenerators) {
  public Experiment {
    steps = List.copyOf(steps);
  }

  /** Loads that were measured without a search. */
  public Experiment(List<Step> steps) {
    this(steps, OptionalDouble.empty(), false);
  }

  /** What was measured before something went wrong, one load at least. */
  public static final class UnfinishedException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;
    private final transient Experiment measured;
    private final RuntimeException failure;

    UnfinishedException(Experiment measured, RuntimeException failure) {
      super(failure);
      this.measured = measured;
      this.failure = failure;
    }

    /** The loads that were measured to their end. */
    public Experiment measured() {
      return measured;
    }

    /** What went wrong. */
    public RuntimeException failure() {
      return failure;
    }
  }

  /** Measures a load behind others, which are not lost with it. */
  private static Step next(List<Step> steps, LoadMode mode, Measurement measurement)
      throws InterruptedException {
    try {
      return measurement.measure(mode);
    } catch (RuntimeException e) {
      throw steps.isEmpty() ? e : new UnfinishedException(new Experiment(steps), e);
    }
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
      Step step = next(steps, mode, measurement);
      steps.add(step);
      if (sweep.limit() != null && !sweep.limit().holds(step)) {
        break;
      }
    }
    return new Experiment(steps);
  }

  private static Experiment search(LoadPlan.Search plan, Measurement measurement)
      throws InterruptedException {
    List<Step> steps = new ArrayList<>();
    TreeMap<Double, Step> byLoad = new TreeMap<>();
    RateSearch search = new RateSearch(plan.range());
    for (OptionalDouble load = search.next(); load.isPresent(); load = search.next()) {
      Step step = next(steps, plan.mode().apply(load.getAsDouble()), measurement);
      steps.add(step);
      byLoad.put(load.getAsDouble(), step);
      search.tried(load.getAsDouble(), plan.limit().holds(step));
    }
    double highest = search.highest();
    Map.@Nullable Entry<Double, Step> refused = byLoad.higherEntry(highest);
    boolean isGenerators = refused != null && refused.getValue().isBottlenecked();
    return new Experiment(steps, OptionalDouble.of(highest), isGenerators);
  }
}
