package io.pipelane.bench.measure;

import java.util.Arrays;
import java.util.List;

/** Latencies of one thing, measured again and again, in milliseconds. */
public final class Samples {
  private double[] millis = new double[0];

  /** Adds one. */
  public void add(double value) {
    millis = Arrays.copyOf(millis, millis.length + 1);
    millis[millis.length - 1] = value;
  }

  public int count() {
    return millis.length;
  }

  public double median() {
    return Medians.of(values());
  }

  public double mean() {
    return Arrays.stream(millis).average().orElseThrow();
  }

  /**
   * The smallest sample that no smaller share of the samples lies below.
   *
   * @param share 0 for the least, 1 for the greatest
   */
  public double quantile(double share) {
    double[] sorted = millis.clone();
    Arrays.sort(sorted);
    return quantile(sorted, share);
  }

  /** The same of values in ascending order, one at least. */
  public static double quantile(double[] ascending, double share) {
    return ascending[(int) Math.round(share * (ascending.length - 1))];
  }

  /** In the order in which they were measured. */
  public List<Double> values() {
    return Arrays.stream(millis).boxed().toList();
  }
}
