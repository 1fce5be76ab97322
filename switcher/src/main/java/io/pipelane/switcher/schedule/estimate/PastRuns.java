package io.pipelane.switcher.schedule.estimate;

import java.util.Arrays;

/**
 * The past runs of one model and one combination of shapes: how long they computed, and how much
 * run-time memory they took, the E of Salus' jobs. Safe for any thread.
 */
public final class PastRuns {
  /** What a new run counts in the mean. */
  private static final double WEIGHT = 0.2;

  /** Before so many runs their times say little: sessions are built, code is compiled. */
  private static final int FIRST_RUNS = 3;

  /** A peak is forgotten once so many runs one after another have taken less than half of it. */
  private static final int SMALLER_RUNS = 32;

  /** What was once the best time is forgotten by so much a run. */
  private static final double FORGETTING = 1.02;

  /** Without a run the best time counts for half after so long, and after so many times itself. */
  private static final long HALF_LIFE_NANOS = 10_000_000_000L;

  private static final int HALF_LIFE_RUNS = 10;

  private final long[] recent = new long[9];
  private volatile int runs;
  private boolean hasRunWarm;
  private volatile double mean;
  private volatile double least; // 0 until a few have run with all weights there.
  private double best = Double.POSITIVE_INFINITY;
  private volatile long lastNanos;
  private volatile long peakBytes;
  private int smallerRuns;
  private long smallerPeakBytes;

  /**
   * A run has computed for so long, with all weights there; those without count no longer.
   *
   * @param nowNanos when it ended
   */
  synchronized void ran(long nanos, long nowNanos) {
    if (!hasRunWarm) {
      hasRunWarm = true;
      runs = 0;
    }
    count(nanos);
    best = Math.min(best * FORGETTING, (double) nanos);
    lastNanos = nowNanos;
    if (runs >= FIRST_RUNS) {
      least = best;
    }
  }

  /**
   * A run has computed for so long beside the transfer of its weights. That tells what is usual
   * while no run has found them there. It tells the least of runs that a few have shown before.
   *
   * @param nowNanos when it ended
   */
  synchronized void ranCold(long nanos, long nowNanos) {
    if (!hasRunWarm) {
      count(nanos);
    }
    if (least > 0) {
      best = Math.min(best, (double) nanos);
      least = best;
      lastNanos = nowNanos;
    }
  }

  /**
   * What is to be thought of larger runs, of which there were none yet: they take as much at least.
   * What they turn out to take replaces it.
   */
  synchronized PastRuns ofLarger() {
    PastRuns larger = new PastRuns();
    larger.mean = mean;
    larger.least = least;
    larger.best = best;
    larger.lastNanos = lastNanos;
    larger.peakBytes = peakBytes;
    return larger;
  }

  private void count(long nanos) {
    mean = runs == 0 ? nanos : mean + WEIGHT * (nanos - mean);
    recent[runs % recent.length] = nanos;
    runs = runs + 1 < 2 * recent.length ? runs + 1 : recent.length;
  }

  /** As if a few runs had all taken so long. */
  void learn(long nanos, long nowNanos) {
    for (int run = 0; run < FIRST_RUNS; run++) {
      ran(nanos, nowNanos);
    }
  }

  /** A run has taken so much of its lane, to its end or until its state was refused room. */
  public synchronized void took(long bytes) {
    if (bytes >= peakBytes / 2) {
      peakBytes = Math.max(peakBytes, bytes);
      smallerRuns = 0;
      smallerPeakBytes = 0;
      return;
    }
    smallerPeakBytes = Math.max(smallerPeakBytes, bytes);
    smallerRuns++;
    if (smallerRuns == SMALLER_RUNS) {
      peakBytes = smallerPeakBytes;
      smallerRuns = 0;
      smallerPeakBytes = 0;
    }
  }

  /** The usual time; 0 when none has run, so that it is soon known. */
  public long usualNanos() {
    return (long) mean;
  }

  /**
   * The usual time; 0 until a few have run, unlike {@link #usualNanos}: what smaller ones took is
   * not enough.
   */
  public long knownNanos() {
    return least == 0 || runs < FIRST_RUNS ? 0 : (long) mean;
  }

  /** The best time of late; 0 until a few have run. */
  public long bestNanos() {
    return (long) least;
  }

  /**
   * What a run takes at least; 0 until a few have run. The longer ago the last one was, the less is
   * certain: requests that are refused on account of it would never run to show that it is too
   * much.
   */
  public long leastNanos(long nowNanos) {
    long known = (long) least;
    long halfLife = Math.max(HALF_LIFE_NANOS, HALF_LIFE_RUNS * known);
    long halvings = Math.max(0, nowNanos - lastNanos) / halfLife;
    return known >> Math.min(halvings, Long.SIZE - 1);
  }

  /** The median of the latest; 0 until a few have run. */
  synchronized long medianNanos() {
    if (runs < FIRST_RUNS) {
      return 0;
    }
    long[] sorted = Arrays.copyOf(recent, Math.min(runs, recent.length));
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  /** Bytes that the latest runs took at most; 0 when none has been seen. */
  public long peakBytes() {
    return peakBytes;
  }
}
