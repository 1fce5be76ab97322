package io.pipelane.switcher.schedule.run;

import java.util.concurrent.atomic.LongAdder;

/**
 * The trial of how many runs are to compute at once (Salus §3.3: the number of lanes from measured
 * benefit). Safe for any thread.
 */
final class LaneTrial {
  /*
   * The benefit of a number of lanes is the work done in a time, over how much longer than the
   * least that work takes online answers take: Kleinrock's power. Work is counted by what the same
   * runs take at least, so that long and short ones count alike. At a given load it is the shorter
   * wait that counts; under more load than can be served it is the work done.
   *
   * Loads change meanwhile, so a number is compared with one more or one fewer window by window, in
   * the order AB BA AB BA. It is left for the other where that has won nearly all pairs, and by a
   * margin. After a number that did not win nothing is tried for a while, twice as long each time;
   * the next trial goes the other way. Windows in which little ran decide nothing.
   *
   * Whoever ends a run looks whether a window is over, so nothing happens where nothing runs. The
   * monitor guards the trial; what ran is counted without it.
   */
  static final long WINDOW_NANOS = 300_000_000;

  /** Of a window's begin, as runs under way have begun with another number. */
  private static final long SETTLING_NANOS = 50_000_000;

  static final long SHORTEST_REST_NANOS = 5_000_000_000L;
  static final long LONGEST_REST_NANOS = 320_000_000_000L;
  private static final int PAIRS = 4;
  private static final int WON_PAIRS = 3;
  private static final double MARGIN = Math.log(1.03);
  private static final int FEWEST_RUNS = 16;

  private final int least;
  private final int most;
  private final LongAdder runs = new LongAdder();
  private final LongAdder doneNanos = new LongAdder();
  private final LongAdder onlineNanos = new LongAdder();
  private final LongAdder answeredNanos = new LongAdder();
  private volatile int lanes;
  private volatile long nextLookNanos;

  // Guarded by the monitor.
  private Phase phase = Phase.RESTING;
  private int kept;
  private int candidate;
  private int direction = -1;
  private long restNanos = SHORTEST_REST_NANOS;
  private int window;
  private long windowBeginNanos;
  private double firstBenefit;
  private double gain;
  private int won;

  private enum Phase {
    RESTING,
    SETTLING,
    COUNTING
  }

  /**
   * Begins with as many as there may be.
   *
   * @param least that may be tried; as many as {@code most} where the number is fixed
   */
  LaneTrial(int least, int most, long nowNanos) {
    this.least = Math.min(least, most);
    this.most = most;
    this.lanes = most;
    this.kept = most;
    this.nextLookNanos = nowNanos + SHORTEST_REST_NANOS;
  }

  /** A number that stays. */
  static LaneTrial fixed(int lanes) {
    return new LaneTrial(lanes, lanes, 0);
  }

  private boolean isFixed() {
    return least == most;
  }

  /** How many are to compute at present. */
  int lanes() {
    return lanes;
  }

  /**
   * An online run has ended.
   *
   * @param leastNanos what it takes at least; 0 for one that is not known, which says nothing
   * @param answeredInNanos from its submission to its end
   */
  void onlineRan(long leastNanos, long answeredInNanos) {
    if (!isFixed() && leastNanos > 0) {
      onlineNanos.add(leastNanos);
      answeredNanos.add(answeredInNanos);
      ran(leastNanos);
    }
  }

  /** An offline run has ended; nobody waits for its answer. */
  void offlineRan(long leastNanos) {
    if (!isFixed() && leastNanos > 0) {
      ran(leastNanos);
    }
  }

  private void ran(long leastNanos) {
    runs.increment();
    doneNanos.add(leastNanos);
  }

  /** Looks whether the number is to change; true where it has. */
  boolean review(long nowNanos) {
    if (isFixed() || nowNanos - nextLookNanos < 0) {
      return false;
    }
    return reviewNow(nowNanos);
  }

  private synchronized boolean reviewNow(long nowNanos) {
    if (nowNanos - nextLookNanos < 0) {
      return false; // Another thread was first.
    }
    int before = lanes;
    switch (phase) {
      case RESTING -> beginTrial(nowNanos);
      case SETTLING -> beginCounting(nowNanos);
      case COUNTING -> endWindow(nowNanos);
    }
    return lanes != before;
  }

  private void beginTrial(long nowNanos) {
    int next = kept + direction;
    if (next < least || next > most) {
      direction = -direction;
      next = kept + direction;
    }
    candidate = next;
    window = 0;
    gain = 0;
    won = 0;
    settle(nowNanos);
  }

  /** Every second pair has the candidate first. */
  private boolean hasCandidate() {
    boolean isSecond = window % 2 == 1;
    boolean isTurned = window / 2 % 2 == 1;
    return isSecond != isTurned;
  }

  private void settle(long nowNanos) {
    lanes = hasCandidate() ? candidate : kept;
    phase = Phase.SETTLING;
    nextLookNanos = nowNanos + SETTLING_NANOS;
  }

  private void beginCounting(long nowNanos) {
    runs.reset();
    doneNanos.reset();
    onlineNanos.reset();
    answeredNanos.reset();
    windowBeginNanos = nowNanos;
    phase = Phase.COUNTING;
    nextLookNanos = nowNanos + WINDOW_NANOS - SETTLING_NANOS;
  }

  private void endWindow(long nowNanos) {
    if (runs.sum() < FEWEST_RUNS) {
      rest(SHORTEST_REST_NANOS, nowNanos);
      return;
    }
    double benefit = benefit(nowNanos - windowBeginNanos);
    if (window % 2 == 0) {
      firstBenefit = benefit;
    } else {
      double ratio = Math.log(benefit / firstBenefit);
      double ofCandidate = hasCandidate() ? ratio : -ratio;
      gain += ofCandidate / PAIRS;
      won += ofCandidate > 0 ? 1 : 0;
    }
    window++;
    if (window < 2 * PAIRS) {
      settle(nowNanos);
    } else {
      decide(nowNanos);
    }
  }

  /** Work done in a time, over how much longer than necessary online answers took. */
  private double benefit(long windowNanos) {
    double done = (double) doneNanos.sum() / windowNanos;
    double slowdown = onlineNanos.sum() == 0 ? 1 : (double) answeredNanos.sum() / onlineNanos.sum();
    return done / slowdown;
  }

  private void decide(long nowNanos) {
    if (won >= WON_PAIRS && gain > MARGIN) {
      kept = candidate;
      restNanos = SHORTEST_REST_NANOS;
    } else {
      direction = -direction;
      restNanos = Math.min(2 * restNanos, LONGEST_REST_NANOS);
    }
    rest(restNanos, nowNanos);
  }

  private void rest(long nanos, long nowNanos) {
    lanes = kept;
    phase = Phase.RESTING;
    nextLookNanos = nowNanos + nanos;
  }
}
