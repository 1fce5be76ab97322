package io.pipelane.switcher.schedule.estimate;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.pipelane.modelstore.ModelVersion;

/** The past runs of all models, by their shapes. Safe for any thread. */
public final class RunHistory {
  private static final int REMEMBERED = 10_000;

  /** Of what has not run. */
  private static final PastRuns NONE = new PastRuns();

  private final Cache<RunKey, PastRuns> runs =
      Caffeine.newBuilder().maximumSize(REMEMBERED).build();

  /** What is known of runs, to be read only: where nothing is, all of it is 0. */
  public PastRuns of(RunKey key) {
    PastRuns known = runs.getIfPresent(key);
    return known == null ? NONE : known;
  }

  /** The same, to be told of runs. */
  public PastRuns toTell(RunKey key) {
    return runs.get(key, _ -> new PastRuns());
  }

  void forget(ModelVersion model) {
    runs.asMap().keySet().removeIf(key -> key.model().equals(model));
  }
}
