package io.pipelane.switcher.sharing.trial;

/**
 * How many times as long online answers take in one stretch of time as in another.
 *
 * @param answers how many could be compared
 * @param slower how many times as long they took; 1 where nothing could be compared
 * @param error the standard error of that
 */
record Comparison(int answers, double slower, double error) {
  /** Times the standard error: beyond that chance is seldom. */
  private static final double SURE = 2;

  /** How many times as long they take at least, chance aside. */
  double atLeast() {
    return Math.max(0, slower - SURE * error);
  }

  /** How many times as long they take at most, chance aside. */
  double atMost() {
    return slower + SURE * error;
  }
}
