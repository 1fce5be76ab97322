package io.pipelane.loadgen.settings;

/**
 * The rule by which a measurement may end: as soon as throughput and latency of the last three
 * windows lie close together. It is the rule of perf_analyzer.
 *
 * @param share the largest value of three may exceed the smallest by this share, 0.1 for instance
 * @param maximumWindows after so many windows the measurement ends as unstable
 * @param percentile of the latency that is compared, above 0 and at most 100; 0 stands for the mean
 */
public record Stability(double share, int maximumWindows, double percentile) {
  /** Windows that have to agree, and that are measured in the end. */
  public static final int WINDOWS = 3;

  public Stability {
    if (!(share > 0 && share <= 10)) {
      throw new IllegalArgumentException(
          "the stability share must be above 0 and at most 1000 %: " + share);
    }
    if (maximumWindows < WINDOWS || maximumWindows > 10_000) {
      throw new IllegalArgumentException(
          "windows must be between " + WINDOWS + " and 10000: " + maximumWindows);
    }
    if (!(percentile >= 0 && percentile <= 100)) {
      throw new IllegalArgumentException("percentile must be between 0 and 100: " + percentile);
    }
  }
}
