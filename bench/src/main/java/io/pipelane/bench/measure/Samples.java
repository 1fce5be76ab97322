package io.pipelane.bench.measure;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.DoubleStream;

/** Latencies of one thing, measured again and again, in milliseconds. */
public final class Samples {
  private final List<Double> millis = new ArrayList<>();

  /** Adds one. */
  public void add(double value) {
    millis.add(value);
  }

  public int count() {
    return millis.size();
  }

  public double median() {
    return Medians.of(millis);
  }

  public double mean() {
    return added().average().orElseThrow();
  }

  /**
   * The smallest sample that no smaller share of the samples lies below.
   *
   * @param share 0 for the least, 1 for the greatest
   */
  public double quantile(double share) {
    return quantile(added().sorted().toArray(), share);
  }

  /** The same of values in ascending order, one at least. */
  public static double quantile(double[] ascending, double share) {
    return ascending[(int) Math.round(share * (ascending.length - 1))];
  }

  /** In the order in which they were measured. */
  public List<Double> values() {
    return List.copyOf(millis);
  }

  private DoubleStream added() {
    return millis.stream().mapToDouble(Double::doubleValue);
  }
}
