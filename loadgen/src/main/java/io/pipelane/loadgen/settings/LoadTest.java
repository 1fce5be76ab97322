package io.pipelane.loadgen.settings;

import java.util.List;

/**
 * A load test to run: everything that decides what is sent when.
 *
 * @param models in the order of their popularity, where the choice has one
 * @param seed of every random draw: arrivals and choice of models
 */
public record LoadTest(
    Endpoint endpoint,
    List<ModelRequests> models,
    ModelChoice choice,
    LoadMode mode,
    Window window,
    long seed,
    ResponseCheck check) {
  /** The most models a test may ask; each has histograms of its own. */
  public static final int MAXIMUM_MODELS = 1_000;

  public LoadTest {
    models = List.copyOf(models);
    requireAdmissible(models.size());
    if (choice instanceof ModelChoice.SwitchStorm && models.size() < 2) {
      throw new IllegalArgumentException("a switch storm needs two models at least");
    }
  }

  /**
   * Checks a number of models.
   *
   * @throws IllegalArgumentException when no test can ask so many
   */
  public static void requireAdmissible(int models) {
    if (models < 1 || models > MAXIMUM_MODELS) {
      throw new IllegalArgumentException(
          "between 1 and " + MAXIMUM_MODELS + " models can be asked: " + models);
    }
  }
}
