package io.pipelane.switcher.sharing.gate;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The slowdown of one online model beside offline work: how much longer its runs take than alone,
 * and what its owner lets that be. Safe for any thread.
 */
final class Slowdown {
  /*
   * Runs of one kind (a model and its inputs' shapes) are compared with each other only, those
   * beside offline work with the mean of those alone. Offline work makes no run faster. Where the
   * mean beside it is less, it replaces the mean alone, which was learnt wrong.
   *
   * Ratios come as runs do and are averaged over SETTLING; between two runs the ratio stays what it
   * was. It goes back to 1 when no run beside offline work has come for several times the time
   * between the last two runs. There is no offline work then, or it has been stopped: only by
   * letting it go on can it be learnt whether it may. A model that has not run for so long suffers
   * nothing.
   *
   * Before anything is known of runs alone, the model is to be alone. That begins with its first
   * run beside offline work and lasts until something is known, for LONGEST_ALONE after each run,
   * and for MOST_ALONE in all: a model that nobody asks does not keep others off. Kinds that have
   * never run alone are not judged, nor are those beyond MOST_KINDS. The first runs of a kind say
   * little: sessions are built, code is compiled.
   */
  private static final int MEAN_RUNS = 64;
  private static final int FIRST_RUNS = 3;
  private static final int LEAST_RUNS = 5;
  private static final int ENOUGH_ALONE = 32;
  private static final int MOST_KINDS = 256;
  private static final double SETTLING_SECONDS = 0.5;
  private static final double MOST_WEIGHT = 0.5;
  private static final double PATIENT_GAPS = 4;
  private static final double LEAST_PATIENCE_SECONDS = 1;
  private static final double MOST_PATIENCE_SECONDS = 60;
  private static final double LONGEST_ALONE_SECONDS = 60;
  private static final double MOST_ALONE_SECONDS = 600;

  /** One run counts for no more times the limit: it may have been held up by anything. */
  private static final double MOST_LOAD = 2;

  private final double most;
  private final Map<Object, Kind> kinds =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Object, Kind> eldest) {
          return size() > MOST_KINDS;
        }
      };
  private double ratio = 1;
  private int runsAlone;
  private boolean known;
  private boolean disturbedUnknown;
  private double secondsAlone;
  private boolean ran;
  private double loadsBeside;
  private int runsBeside;
  private double patienceSeconds = LEAST_PATIENCE_SECONDS;
  private double secondsSinceRun = LEAST_PATIENCE_SECONDS;
  private double secondsSinceBeside = LEAST_PATIENCE_SECONDS;

  /** The times of runs of one kind. */
  private static final class Kind {
    private final Mean alone = new Mean(FIRST_RUNS);
    private final Mean beside = new Mean(0);

    void besideOffline(long nanos) {
      beside.add(nanos);
      if (beside.isKnown() && beside.nanos < alone.nanos) {
        alone.nanos = beside.nanos;
      }
    }
  }

  /** A mean that forgets; of what comes after the first. */
  private static final class Mean {
    private final int first;
    private int runs;
    private double nanos;

    Mean(int first) {
      this.first = first;
    }

    void add(long measuredNanos) {
      runs = Math.min(runs + 1, first + MEAN_RUNS);
      if (runs > first) {
        nanos += (measuredNanos - nanos) / (runs - first);
      }
    }

    boolean isKnown() {
      return runs >= first + LEAST_RUNS;
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
    ran = true;
    if (besideOffline) {
      ranBeside(kinds.get(kind), nanos);
    } else {
      Kind same = kinds.computeIfAbsent(kind, _ -> new Kind());
      same.alone.add(nanos);
      runsAlone = Math.min(runsAlone + 1, ENOUGH_ALONE);
      known |= same.alone.isKnown() || runsAlone >= ENOUGH_ALONE;
    }
  }

  private void ranBeside(@Nullable Kind kind, long nanos) {
    if (kind != null && kind.alone.isKnown()) {
      kind.besideOffline(nanos);
      loadsBeside += Math.min(nanos / Math.max(1, kind.alone.nanos) / most, MOST_LOAD);
      runsBeside++;
    } else if (!known) {
      disturbedUnknown = true;
    }
  }

  /**
   * Takes in what has run since the look before.
   *
   * @param seconds since then
   * @return whether there is anything new
   */
  synchronized boolean look(double seconds) {
    secondsSinceRun += seconds;
    secondsSinceBeside += seconds;
    if (ran) {
      patienceSeconds =
          Math.clamp(PATIENT_GAPS * secondsSinceRun, LEAST_PATIENCE_SECONDS, MOST_PATIENCE_SECONDS);
      secondsSinceRun = 0;
    }
    secondsAlone += mustBeAlone() ? seconds : 0;
    boolean isNew = true;
    if (runsBeside > 0) {
      double weight = Math.min(secondsSinceBeside / SETTLING_SECONDS, MOST_WEIGHT);
      ratio += weight * (most * loadsBeside / runsBeside - ratio);
      secondsSinceBeside = 0;
    } else if (secondsSinceBeside >= patienceSeconds) {
      ratio += Math.min(seconds / SETTLING_SECONDS, 1) * (1 - ratio);
    } else {
      isNew = false;
    }
    ran = false;
    runsBeside = 0;
    loadsBeside = 0;
    return isNew;
  }

  /** Whether offline work is to stop, so that something is learnt of runs alone. */
  synchronized boolean mustBeAlone() {
    return !known
        && disturbedUnknown
        && secondsSinceRun < LONGEST_ALONE_SECONDS
        && secondsAlone < MOST_ALONE_SECONDS;
  }

  /** The ratio as part of its limit; above 1 is too much. */
  synchronized double load() {
    return secondsSinceRun >= patienceSeconds ? 0 : ratio / most;
  }

  /** Times as long as alone, lately; 1 while it is not known. */
  synchronized double ratio() {
    return ratio;
  }
}
