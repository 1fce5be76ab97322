package io.pipelane.switcher.schedule;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.pipelane.modelstore.ModelVersion;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** How long runs compute with all weights there, as those before them took. Safe for any thread. */
final class RunTimes {
  private static final int REMEMBERED = 10_000;

  private final Cache<RunKey, Times> times = Caffeine.newBuilder().maximumSize(REMEMBERED).build();

  /** The runs of one key. */
  private static final class Times {
    /** What a new run counts in the mean. */
    private static final double WEIGHT = 0.2;

    /** Before so many runs their times say little: sessions are built, code is compiled. */
    private static final int FIRST_RUNS = 3;

    /** What was once the best time is forgotten by so much a run. */
    private static final double FORGETTING = 1.02;

    private final long[] recent = new long[9];
    private int runs;
    private volatile double mean;
    private volatile double least; // 0 until a few have run.
    private double best = Double.POSITIVE_INFINITY;

    synchronized void add(long nanos) {
      mean = runs == 0 ? nanos : mean + WEIGHT * (nanos - mean);
      best = Math.min(best * FORGETTING, (double) nanos);
      recent[runs % recent.length] = nanos;
      runs = runs + 1 < 2 * recent.length ? runs + 1 : recent.length;
      if (runs >= FIRST_RUNS) {
        least = best;
      }
    }

    synchronized long median() {
      if (runs < FIRST_RUNS) {
        return 0;
      }
      long[] sorted = Arrays.copyOf(recent, Math.min(runs, recent.length));
      Arrays.sort(sorted);
      return sorted[sorted.length / 2];
    }
  }

  /** The usual time; 0 when none like it has run, so that it is soon known. */
  long usualNanos(RunKey key) {
    @Nullable Times known = times.getIfPresent(key);
    return known == null ? 0 : (long) known.mean;
  }

  /** The usual time; 0 until a few have run, unlike {@link #usualNanos}. */
  long knownNanos(RunKey key) {
    @Nullable Times known = times.getIfPresent(key);
    return known == null || known.least == 0 ? 0 : (long) known.mean;
  }

  /** What it takes at least; 0 until a few have run. */
  long leastNanos(RunKey key) {
    @Nullable Times known = times.getIfPresent(key);
    return known == null ? 0 : (long) known.least;
  }

  /** The median of the latest runs; 0 until a few have run. */
  long medianNanos(RunKey key) {
    @Nullable Times known = times.getIfPresent(key);
    return known == null ? 0 : known.median();
  }

  /** As if a few runs had all taken so long. */
  void learn(RunKey key, long nanos) {
    for (int run = 0; run < Times.FIRST_RUNS; run++) {
      observed(key, nanos);
    }
  }

  void observed(RunKey key, long nanos) {
    times.get(key, _ -> new Times()).add(nanos);
  }

  void forget(ModelVersion model) {
    times.asMap().keySet().removeIf(key -> key.model().equals(model));
  }
}
