package io.pipelane.switcher.grouping;

/**
 * The speed that a run and copies take from each other while both go on, as both go through the
 * same memory and, on a GPU, the same link.
 *
 * @param computingLost of such a time, what computation loses
 * @param copyingLost of such a time, what copies lose
 */
public record Contention(double computingLost, double copyingLost) {
  public static final Contention NONE = new Contention(0, 0);

  public Contention {
    requireShare(computingLost);
    requireShare(copyingLost);
  }

  private static void requireShare(double share) {
    if (!(share >= 0 && share < 1)) {
      throw new IllegalArgumentException("no share of a time: " + share);
    }
  }

  /** How long a copy takes beside a run that takes so long alone. */
  public long copyNanos(long aloneNanos) {
    return Math.round(aloneNanos / copySpeed());
  }

  double computingSpeed() {
    return 1 - computingLost;
  }

  double copySpeed() {
    return 1 - copyingLost;
  }
}
