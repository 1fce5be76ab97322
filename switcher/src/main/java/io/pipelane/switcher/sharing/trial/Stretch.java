package io.pipelane.switcher.sharing.trial;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What was answered and what ran in a stretch of time. Not safe for several threads. */
final class Stretch {
  private static final int LEAST_OF_A_KIND = 5;
  private static final int MOST_KINDS = 1024;

  /** How long online answers of a kind took. */
  private static final class Kind {
    private int answers;
    private double mean;
    private double squares; // of what they differ from the mean by, together

    private void add(long nanos) {
      answers++;
      double before = nanos - mean;
      mean += before / answers;
      squares += before * (nanos - mean);
    }

    private double variance() {
      return squares / (answers - 1);
    }
  }

  private final Map<Object, Kind> kinds = new HashMap<>();
  private int online;
  private int offline;
  private double offlineNanos;

  /** An online request has been answered. */
  void onlineAnswered(Object kind, long nanos) {
    online++;
    if (kinds.size() < MOST_KINDS || kinds.containsKey(kind)) {
      kinds.computeIfAbsent(kind, _ -> new Kind()).add(nanos);
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

  /** How the answers here compare with those of the same kinds there. */
  Comparison with(Stretch there) {
    int answers = 0;
    double here = 0;
    double same = 0;
    double hereVariance = 0;
    double sameVariance = 0;
    for (Map.Entry<Object, Kind> entry : kinds.entrySet()) {
      Kind mine = entry.getValue();
      @Nullable Kind other = there.kinds.get(entry.getKey());
      if (mine.answers >= LEAST_OF_A_KIND && other != null && other.answers >= LEAST_OF_A_KIND) {
        double count = mine.answers;
        answers += mine.answers;
        here += count * mine.mean;
        same += count * other.mean;
        hereVariance += count * mine.variance();
        sameVariance += count * count * other.variance() / other.answers;
      }
    }
    if (here <= 0 || same <= 0) {
      return new Comparison(0, 1, 0);
    }
    double slower = here / same;
    double error = slower * Math.sqrt(hereVariance / (here * here) + sameVariance / (same * same));
    return new Comparison(answers, slower, error);
  }
}
