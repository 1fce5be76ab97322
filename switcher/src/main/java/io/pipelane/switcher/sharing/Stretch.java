package io.pipelane.switcher.sharing;

import java.util.HashMap;
import java.util.Map;

/** What ran in a stretch of time. Not safe for several threads. */
final class Stretch {
  private static final int LEAST_OF_A_KIND = 5;
  private static final int MOST_KINDS = 256;

  /** How long online runs of a kind took. */
  private static final class Kind {
    private int runs;
    private double nanos;
  }

  private final Map<Object, Kind> kinds = new HashMap<>();
  private int online;
  private int offline;
  private double offlineNanos;

  /** An online run has ended. */
  void onlineRan(Object kind, long nanos) {
    online++;
    if (kinds.size() < MOST_KINDS || kinds.containsKey(kind)) {
      Kind same = kinds.computeIfAbsent(kind, _ -> new Kind());
      same.runs++;
      same.nanos += nanos;
    }
  }

  /** An offline run has ended that takes so long with the whole device. */
  void offlineRan(long usualNanos) {
    offline++;
    offlineNanos += usualNanos;
  }

  int online() {
    return online;
  }

  int offline() {
    return offline;
  }

  /**
   * What offline work did, of what it does with the whole device to itself.
   *
   * @param nanos how long this is
   */
  double offlineRate(long nanos) {
    return nanos > 0 ? offlineNanos / nanos : 0;
  }

  /** How many times as long as there online runs take here; 1 where nothing can be compared. */
  double slowdown(Stretch alone) {
    double here = 0;
    double there = 0;
    for (Map.Entry<Object, Kind> entry : kinds.entrySet()) {
      Kind with = entry.getValue();
      Kind without = alone.kinds.getOrDefault(entry.getKey(), new Kind());
      if (with.runs >= LEAST_OF_A_KIND && without.runs >= LEAST_OF_A_KIND) {
        here += with.nanos;
        there += without.nanos / without.runs * with.runs;
      }
    }
    return there > 0 ? here / there : 1;
  }
}
