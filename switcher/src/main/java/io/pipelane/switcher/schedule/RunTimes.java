package io.pipelane.switcher.schedule;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.pipelane.modelstore.ModelVersion;
import org.jspecify.annotations.Nullable;

/** How long runs compute with all weights there, as those before them took. Safe for any thread. */
final class RunTimes {
  private static final int REMEMBERED = 10_000;

  /** What a new run counts in the mean. */
  private static final double WEIGHT = 0.2;

  /** Before so many runs their best time says little: sessions are built, code is compiled. */
  private static final int FIRST_RUNS = 3;

  /** What was once the best time is forgotten by so much a run. */
  private static final double FORGETTING = 1.02;

  private final Cache<RunKey, Times> times = Caffeine.newBuilder().maximumSize(REMEMBERED).build();

  private record Times(int runs, double meanNanos, double leastNanos) {
    Times with(Times run) {
      return new Times(
          Math.min(runs + 1, FIRST_RUNS),
          meanNanos + WEIGHT * (run.meanNanos - meanNanos),
          Math.min(leastNanos * FORGETTING, run.leastNanos));
    }
  }

  /** The usual time; 0 when none like it has run, so that it is soon known. */
  long usualNanos(RunKey key) {
    @Nullable Times known = times.getIfPresent(key);
    return known == null ? 0 : (long) known.meanNanos;
  }

  /** What it takes at least; 0 until a few have run. */
  long leastNanos(RunKey key) {
    @Nullable Times known = times.getIfPresent(key);
    return known == null || known.runs < FIRST_RUNS ? 0 : (long) known.leastNanos;
  }

  void observed(RunKey key, long nanos) {
    times.asMap().merge(key, new Times(1, nanos, nanos), Times::with);
  }

  void forget(ModelVersion model) {
    times.asMap().keySet().removeIf(key -> key.model().equals(model));
  }
}
