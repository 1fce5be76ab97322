package io.pipelane.switcher.schedule.estimate;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.pipelane.modelstore.ModelVersion;
import java.util.Comparator;
import java.util.Map;

/** The past runs of all models, by their shapes. Safe for any thread. */
public final class RunHistory {
  /*
   * Steps of sequences are remembered by rounded sizes, so a decoder of thousands of steps leaves
   * some hundred entries. A size that has not run yet is taken for the largest known that it
   * includes: it takes as long at least. Another size says nothing: a prompt of many tokens behind
   * a shorter cache takes longer than a token behind a longer one.
   *
   * What is kept is bounded by its bytes: a decoder's key holds two shapes for each layer.
   */
  private static final int MOST_NUMBERS = 100_000;

  /** What an entry takes beside its shapes, in shapes. */
  private static final int NUMBERS_OF_RUNS = 4;

  /** Of what has not run. */
  private static final PastRuns NONE = new PastRuns();

  private final Cache<RunKey, PastRuns> runs =
      Caffeine.newBuilder()
          .maximumWeight(MOST_NUMBERS)
          .weigher((RunKey key, PastRuns _) -> NUMBERS_OF_RUNS + key.inputs())
          .build();

  /** What is known of runs, to be read only: where nothing is, all of it is 0. */
  public PastRuns of(RunKey key) {
    PastRuns known = runs.getIfPresent(key.ofAboutThatSize());
    return known == null ? NONE : known;
  }

  /**
   * The same of a request that has come: a step of a size that has not run is taken for a smaller
   * one from now on. That looks all entries through, so it is asked once, under no lock.
   */
  public PastRuns ofComing(RunKey key) {
    return key.isOfSteps() ? toTell(key) : of(key);
  }

  /** The same, to be told of runs. */
  public PastRuns toTell(RunKey key) {
    RunKey size = key.ofAboutThatSize();
    PastRuns known = runs.getIfPresent(size);
    if (known != null) {
      return known;
    }
    PastRuns first = key.isOfSteps() ? asSmaller(size) : new PastRuns();
    return runs.get(size, _ -> first);
  }

  private PastRuns asSmaller(RunKey size) {
    return runs.asMap().entrySet().stream()
        .filter(known -> known.getKey().isWithin(size) && known.getValue().usualNanos() > 0)
        .max(Comparator.comparingDouble(known -> known.getKey().elements()))
        .map(Map.Entry::getValue)
        .map(PastRuns::ofLarger)
        .orElseGet(PastRuns::new);
  }

  void forget(ModelVersion model) {
    runs.asMap().keySet().removeIf(key -> key.model().equals(model));
  }

  /** How many sizes are remembered, about. */
  long size() {
    runs.cleanUp();
    return runs.estimatedSize();
  }
}
