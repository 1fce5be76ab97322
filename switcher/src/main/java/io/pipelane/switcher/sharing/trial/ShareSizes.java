package io.pipelane.switcher.sharing.trial;

import java.util.List;
import java.util.OptionalDouble;

/**
 * What is known of the sizes that offline work's share of the multiprocessors may have, by number
 * from the least to the most. Not safe for several threads.
 */
final class ShareSizes {
  /*
   * Of a size that has been measured, how many times as long as alone online answers take beside it; that is
   * what they need of those multiprocessors. What is known halves every HALF_LIFE towards what is
   * expected of a size that has not been measured: SUSPECTED, or less for one that is smaller than a
   * measured one, or of a larger one as much more as it is larger. A size that does not pay pauses,
   * each time for twice as long; what is known of it is forgotten then.
   */
  static final double SUSPECTED = 1.02;
  private static final long SECOND = 1_000_000_000;
  private static final double HALF_LIFE_NANOS = 600.0 * SECOND;
  private static final long SHORTEST_PAUSE_NANOS = 60 * SECOND;
  private static final long LONGEST_PAUSE_NANOS = 3600 * SECOND;

  private static final class Size {
    private final int percent;
    private OptionalDouble slower = OptionalDouble.empty();
    private OptionalDouble offlineRate = OptionalDouble.empty();
    private long measuredNanos;
    private boolean pays;
    private boolean hasRun;
    private boolean pauses;
    private long pausesUntil;
    private long nextPauseNanos = SHORTEST_PAUSE_NANOS;

    private Size(int percent) {
      this.percent = percent;
    }
  }

  private final List<Size> sizes;

  /** Sizes in percent, ascending, of which nothing is known. */
  ShareSizes(List<Integer> percents) {
    sizes = percents.stream().map(Size::new).toList();
  }

  int count() {
    return sizes.size();
  }

  int percent(int size) {
    return sizes.get(size).percent;
  }

  /** The largest that has no more than so many percent, or the smallest. */
  int atMost(int percent) {
    int size = 0;
    while (size + 1 < sizes.size() && sizes.get(size + 1).percent <= percent) {
      size++;
    }
    return size;
  }

  /** A size was compared with none. */
  void measured(int size, double slower, double offlineRate, long nowNanos) {
    Size known = sizes.get(size);
    known.slower = OptionalDouble.of(Math.max(1, slower));
    known.offlineRate = OptionalDouble.of(offlineRate);
    known.measuredNanos = nowNanos;
  }

  boolean isMeasured(int size) {
    return sizes.get(size).slower.isPresent();
  }

  /** How many times as long online runs are expected to take beside a size. */
  double slower(int size, long nowNanos) {
    Size known = sizes.get(size);
    double expected = expected(size);
    if (known.slower.isEmpty()) {
      return expected;
    }
    double left = Math.exp(-Math.log(2) * (nowNanos - known.measuredNanos) / HALF_LIFE_NANOS);
    return expected + (known.slower.getAsDouble() - expected) * left;
  }

  /** By the nearest smaller size that was measured, else by the nearest larger one. */
  private double expected(int size) {
    for (int other = size - 1; other >= 0; other--) {
      if (isMeasured(other)) {
        return scaled(other, size);
      }
    }
    for (int other = size + 1; other < sizes.size(); other++) {
      if (isMeasured(other)) {
        return Math.min(SUSPECTED, scaled(other, size));
      }
    }
    return SUSPECTED;
  }

  private double scaled(int from, int to) {
    double excess = sizes.get(from).slower.orElseThrow() - 1;
    return 1 + excess * sizes.get(to).percent / sizes.get(from).percent;
  }

  /** What offline work did when a size was measured; 0 while it was not. */
  double offlineRate(int size) {
    return sizes.get(size).offlineRate.orElse(0);
  }

  /** The size pays. */
  void pays(int size) {
    sizes.get(size).pays = true;
    sizes.get(size).nextPauseNanos = SHORTEST_PAUSE_NANOS;
  }

  /** Whether it has been seen to pay. */
  boolean isKnownToPay(int size) {
    return sizes.get(size).pays;
  }

  /** None has, of what is known from now on. */
  void forgetWhatPays() {
    sizes.forEach(size -> size.pays = false);
  }

  /** An offline run has ended well in a size. */
  void ran(int size) {
    sizes.get(size).hasRun = true;
  }

  /** Whether one ever has: libraries fail on some partitions. */
  boolean isProven(int size) {
    return sizes.get(size).hasRun;
  }

  /** The size does not pay, for now. */
  void pause(int size, long nowNanos) {
    Size known = sizes.get(size);
    known.pays = false;
    known.pauses = true;
    known.pausesUntil = nowNanos + known.nextPauseNanos;
    known.nextPauseNanos = Math.min(2 * known.nextPauseNanos, LONGEST_PAUSE_NANOS);
  }

  boolean isPaused(int size) {
    return sizes.get(size).pauses;
  }

  /** Whether all are, up to one. */
  boolean arePaused(int most) {
    return sizes.stream().limit(most + 1L).allMatch(size -> size.pauses);
  }

  /** Lets sizes be tried anew whose pauses are over. */
  void look(long nowNanos) {
    for (Size size : sizes) {
      if (size.pauses && nowNanos - size.pausesUntil >= 0) {
        size.pauses = false;
        size.slower = OptionalDouble.empty();
        size.offlineRate = OptionalDouble.empty();
      }
    }
  }

  /** For people. */
  List<ShareOverview.Size> overview() {
    return sizes.stream()
        .map(size -> new ShareOverview.Size(size.percent, size.slower, size.offlineRate))
        .toList();
  }
}
