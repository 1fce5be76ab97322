package io.pipelane.loadgen.experiment;

import io.pipelane.config.StatusException;
import io.pipelane.loadgen.settings.LoadMode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The results of an experiment: what was measured, and what could not be.
 *
 * @param failures runs that could not be measured; what is measured besides them is kept
 * @param highest the highest load that held the limit, where it was searched for; 0 for none
 * @param isGenerators whether the search ended at a load that the generator itself held up, so that
 *     the server may bear more
 */
public record Experiment(
    List<Step> steps, List<Failure> failures, OptionalDouble highest, boolean isGenerators) {
  public Experiment {
    steps = List.copyOf(steps);
    failures = List.copyOf(failures);
  }

  /** Loads that were measured without a search. */
  public Experiment(List<Step> steps, List<Failure> failures) {
    this(steps, failures, OptionalDouble.empty(), false);
  }

  /** The highest load that held the limit; empty where none did, or none was searched for. */
  public Optional<LoadMode> highestMode() {
    return steps.stream()
        .map(Step::mode)
        .filter(mode -> highest.isPresent() && mode.load() == highest.getAsDouble())
        .findFirst();
  }

  /**
   * A run that could not be measured, as when the server has gone.
   *
   * @param run counted from 0
   */
  public record Failure(LoadMode mode, int run, String reason) {
    /** What a run failed with. */
    public static Failure of(LoadMode mode, int run, RuntimeException failure) {
      String message = failure.getMessage();
      return new Failure(
          mode,
          run,
          failure instanceof StatusException && message != null ? message : failure.toString());
    }

    /** A run that an interrupt kept from its end. */
    public static Failure interrupted(LoadMode mode, int run) {
      return new Failure(mode, run, "interrupted; what was measured until then is kept");
    }

    /** A line for people. */
    @Override
    public String toString() {
      return "run %d of %s could not be measured: %s"
          .formatted(run + 1, mode.description(), reason);
    }
  }

  /**
   * Carries out a plan. It ends at the first run that cannot be measured, or is interrupted.
   *
   * @throws RuntimeException what that was, when nothing has been measured before
   */
  public static Experiment run(LoadPlan plan, Measurement measurement) throws InterruptedException {
    Progress progress = new Progress(measurement);
    return switch (plan) {
      case LoadPlan.Sweep sweep -> sweep(sweep, progress);
      case LoadPlan.Search search -> search(search, progress);
    };
  }

  /** The measurements so far. */
  private static final class Progress {
    private final Measurement measurement;
    private final List<Step> steps = new ArrayList<>();
    private final List<Failure> failures = new ArrayList<>();

    Progress(Measurement measurement) {
      this.measurement = measurement;
    }

    /** Measures one load in all its runs; null when one of them failed. */
    @Nullable Step measure(LoadMode mode) throws InterruptedException {
      List<MeasuredRun> runs = new ArrayList<>();
      for (int run = 0; run < measurement.runs() && failures.isEmpty(); run++) {
        try {
          runs.add(measurement.run(mode, run));
          if (measurement.isInterrupted()) {
            failures.add(Failure.interrupted(mode, run));
          }
        } catch (RuntimeException e) {
          if (steps.isEmpty() && runs.isEmpty()) {
            throw e;
          }
          failures.add(Failure.of(mode, run, e));
        }
      }
      if (runs.isEmpty()) {
        return null;
      }
      Step step = new Step(mode, runs);
      steps.add(step);
      return failures.isEmpty() ? step : null;
    }

    Experiment experiment() {
      return new Experiment(steps, failures);
    }
  }

  private static Experiment sweep(LoadPlan.Sweep sweep, Progress progress)
      throws InterruptedException {
    for (LoadMode mode : sweep.modes()) {
      Step step = progress.measure(mode);
      if (step == null || (sweep.limit() != null && !sweep.limit().holds(step))) {
        break;
      }
    }
    return progress.experiment();
  }

  private static Experiment search(LoadPlan.Search plan, Progress progress)
      throws InterruptedException {
    TreeMap<Double, Step> byLoad = new TreeMap<>();
    RateSearch search = new RateSearch(plan.range());
    for (OptionalDouble load = search.next(); load.isPresent(); load = search.next()) {
      Step step = progress.measure(plan.mode().apply(load.getAsDouble()));
      if (step == null) {
        return progress.experiment();
      }
      byLoad.put(load.getAsDouble(), step);
      search.tried(load.getAsDouble(), plan.limit().holds(step));
    }
    double highest = search.highest();
    Map.@Nullable Entry<Double, Step> refused = byLoad.higherEntry(highest);
    boolean isGenerators =
        refused != null
            && refused.getValue().isBottlenecked()
            && plan.limit().isAnswered(refused.getValue());
    return new Experiment(progress.steps, List.of(), OptionalDouble.of(highest), isGenerators);
  }
}
