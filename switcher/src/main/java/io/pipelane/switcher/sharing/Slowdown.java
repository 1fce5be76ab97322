package io.pipelane.switcher.sharing;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How much longer the runs of one online model take beside offline work than alone, and what its
 * owner lets that be. Safe for any thread.
 */
final class Slowdown {
  /*
   * Runs of one kind (a model and its inputs' shapes) are compared with each other only, the mean
   * of those beside offline work with the mean of those alone. Ratios beside come as runs do and
   * are averaged over SETTLING; between two runs the ratio stays what it was. After STALE without a
   * run beside offline work it goes back to 1, as there is no offline work or it has been stopped:
   * only by letting it go on can it be learnt whether it may. A model that has not run for so long
   * suffers nothing. Before any kind is known alone, a run beside offline work counts as much too
   * slow: that stops offline work until it is known. The first runs of a kind say little: sessions
   * are built, code is compiled.
   */
  private static final double ALONE_WEIGHT = 1.0 / 64;
  private static final int FIRST_RUNS = 3;
  private static final int LEAST_RUNS = 5;
  private static final int MOST_KINDS = 256;
  private static final double SETTLING_SECONDS = 0.5;
  private static final double STALE_SECONDS = 1;

  /** One run counts for no more times the limit: it may have been held up by anything. */
  private static final double MOST_LOAD = 2;

  private final double most;
  private final Map<Object, Alone> kinds =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Object, Alone> eldest) {
          return size() > MOST_KINDS;
        }
      };
  private double ratio = 1;
  private boolean known;
  private boolean ran;
  private double loadsBeside;
  private int runsBeside;
  private double secondsSinceRun = STALE_SECONDS;
  private double secondsSinceBeside = STALE_SECONDS;

  /** The mean time of a kind's runs alone. */
  private static final class Alone {
    private long runs;
    private double nanos;

    void add(long measuredNanos) {
      runs++;
      if (runs > FIRST_RUNS) {
        nanos += Math.max(ALONE_WEIGHT, 1.0 / (runs - FIRST_RUNS)) * (measuredNanos - nanos);
      }
    }

    boolean isKnown() {
      return runs >= FIRST_RUNS + LEAST_RUNS;
    }
  }

  /**
   * Of a model that has not run.
   *
   * @param most times as long as alone, above 1
   */
  Slowdown(double most) {
    this.most = most;
  }

  double most() {
    return most;
  }

  /** A run has ended well. */
  synchronized void ran(Object kind, long nanos, boolean besideOffline) {
    Alone alone = kinds.computeIfAbsent(kind, _ -> new Alone());
    if (!besideOffline) {
      alone.add(nanos);
      if (!known && alone.isKnown()) {
        known = true;
        ratio = 1;
        forgetRuns();
      }
    } else if (alone.isKnown()) {
      loadsBeside += Math.min(nanos / Math.max(1, alone.nanos) / most, MOST_LOAD);
      runsBeside++;
    } else if (!known) {
      loadsBeside += MOST_LOAD;
      runsBeside++;
    }
    ran = true;
  }

  /**
   * Takes in what has run since the look before.
   *
   * @param seconds since then
   * @return whether there is anything new
   */
  synchronized boolean look(double seconds) {
    double weight = Math.clamp(seconds / SETTLING_SECONDS, 0.0, 1.0);
    secondsSinceRun = ran ? 0 : secondsSinceRun + seconds;
    secondsSinceBeside = runsBeside > 0 ? 0 : secondsSinceBeside + seconds;
    if (runsBeside > 0) {
      ratio += weight * (most * loadsBeside / runsBeside - ratio);
    } else if (secondsSinceBeside >= STALE_SECONDS) {
      ratio += weight * (1 - ratio);
    }
    boolean isNew = runsBeside > 0 || secondsSinceBeside >= STALE_SECONDS;
    forgetRuns();
    return isNew;
  }

  private void forgetRuns() {
    ran = false;
    runsBeside = 0;
    loadsBeside = 0;
  }

  /** The ratio as part of its limit; above 1 is too much. */
  synchronized double load() {
    return secondsSinceRun >= STALE_SECONDS ? 0 : ratio / most;
  }

  /** Times as long as alone, lately; 1 while it is not known. */
  synchronized double ratio() {
    return known ? ratio : 1;
  }
}
