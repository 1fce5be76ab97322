package io.pipelane.loadgen.measure;

import io.pipelane.loadgen.settings.Stability;
import org.jspecify.annotations.Nullable;

/**
 * The windows of a run, one after another from a start, of equal length or each as long as it
 * takes; the last ones are kept. One thread at a time.
 */
final class Windows {
  /*
   * Window i lies in kept[i % kept.length] until window i + kept.length is opened there. A window
   * is opened by the first event in it. One of a fixed length is judged when the clock has passed
   * its end: for a moment the next one is open already, so one more is kept than are measured.
   */
  private final @Nullable WindowTally[] kept;
  private final int models;
  private final int maximum;

  /** Where windows begin that last as long as it takes; unused for those of equal length. */
  private final long[] starts;

  private long start = Long.MAX_VALUE;
  private long lengthNanos;
  private long endOfAll = Long.MAX_VALUE;
  private int ended;
  private int opened;

  /**
   * @param maximum windows after which nothing is measured
   */
  Windows(int models, int maximum) {
    this.models = models;
    this.maximum = maximum;
    this.kept = new WindowTally[Math.min(maximum, Stability.WINDOWS + 1)];
    this.starts = new long[maximum + 1];
  }

  /**
   * The first window begins.
   *
   * @param lengthNanos of each; 0 when each lasts until {@link #end}
   */
  void begin(long start, long lengthNanos) {
    this.start = start;
    this.lengthNanos = lengthNanos;
    starts[0] = start;
  }

  /** A window ends at a time, and the next one begins. */
  void end(long boundary) {
    ended++;
    starts[ended] = boundary;
  }

  /** No window reaches beyond a time. */
  void endAll(long time) {
    endOfAll = time;
  }

  /** When a window begins; in the far future for one that nobody knows the beginning of. */
  long startOf(int window) {
    if (lengthNanos > 0) {
      return start + window * lengthNanos;
    }
    return window <= ended ? starts[window] : Long.MAX_VALUE;
  }

  /** The window that a time lies in; null outside all of them, and when it is no longer kept. */
  @Nullable WindowTally at(long time) {
    if (time < start || time >= endOfAll) {
      return null;
    }
    long window = lengthNanos > 0 ? (time - start) / lengthNanos : begunBefore(time);
    return window < maximum ? get((int) window) : null;
  }

  private int begunBefore(long time) {
    int window = ended;
    while (starts[window] > time) {
      window--;
    }
    return window;
  }

  /** A window by its number; null when it is no longer kept. */
  @Nullable WindowTally get(int window) {
    while (opened <= window) {
      kept[opened % kept.length] = new WindowTally(models);
      opened++;
    }
    return window < opened - kept.length ? null : kept[window % kept.length];
  }

  /** Several windows added up, those that are no longer kept left out. */
  WindowTally sum(int from, int to) {
    WindowTally sum = new WindowTally(models);
    for (int window = from; window < to; window++) {
      WindowTally tally = get(window);
      if (tally != null) {
        sum.add(tally);
      }
    }
    return sum;
  }
}
