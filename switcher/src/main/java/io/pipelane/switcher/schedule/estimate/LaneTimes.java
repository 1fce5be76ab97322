package io.pipelane.switcher.schedule.estimate;

import java.util.Arrays;

/**
 * The times until which lanes are taken, if each run goes to the lane that is free first. Not safe
 * for several threads.
 */
public final class LaneTimes {
  private final long[] takenNanos;

  /**
   * Lanes with something to do.
   *
   * @param takenNanos of each lane, how long it is taken from now on
   */
  public LaneTimes(long... takenNanos) {
    if (takenNanos.length == 0) {
      throw new IllegalArgumentException("there are no lanes");
    }
    this.takenNanos = takenNanos.clone();
  }

  /** Lanes with nothing to do. */
  public static LaneTimes idle(int lanes) {
    return new LaneTimes(new long[lanes]);
  }

  /** The same times, to which more is added apart. */
  public LaneTimes copy() {
    return new LaneTimes(takenNanos);
  }

  /** When the first of the lanes is free. */
  public long beginNanos() {
    return takenNanos[first()];
  }

  /** One more run. */
  public void add(long nanos) {
    takenNanos[first()] += nanos;
  }

  /**
   * When the first of the lanes is free at the latest, if they do so much more before that, in
   * whatever order: until then all of them are busy.
   */
  public long latestBeginNanos(long moreNanos) {
    return (sumNanos() + moreNanos) / takenNanos.length;
  }

  /** What all of them have to do. */
  public long sumNanos() {
    return Arrays.stream(takenNanos).sum();
  }

  private int first() {
    int first = 0;
    for (int lane = 1; lane < takenNanos.length; lane++) {
      first = takenNanos[lane] < takenNanos[first] ? lane : first;
    }
    return first;
  }
}
