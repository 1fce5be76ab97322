package io.pipelane.loadgen.experiment;

import io.pipelane.loadgen.settings.Endpoint;
import io.pipelane.loadgen.settings.LoadMode;
import io.pipelane.loadgen.settings.LoadTest;
import io.pipelane.loadgen.settings.ModelChoice;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.ResponseCheck;
import io.pipelane.loadgen.settings.Window;
import java.util.List;

/**
 * Everything of a load test but how much load there is.
 *
 * @param runs how often each load is measured; each run has a seed of its own, one above the last
 */
public record Scenario(
    Endpoint endpoint,
    List<ModelRequests> models,
    ModelChoice choice,
    Window window,
    long seed,
    int runs,
    ResponseCheck check) {
  private static final int MAXIMUM_RUNS = 1_000;

  public Scenario {
    models = List.copyOf(models);
    if (runs < 1 || runs > MAXIMUM_RUNS) {
      throw new IllegalArgumentException(
          "runs must be between 1 and " + MAXIMUM_RUNS + ": " + runs);
    }
  }

  /** The test of one run. */
  public LoadTest test(LoadMode mode, int run) {
    return new LoadTest(endpoint, models, choice, mode, window, seed + run, check);
  }
}
