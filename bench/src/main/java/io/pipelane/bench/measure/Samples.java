package io.pipelane.bench.measure;

import java.util.Arrays;
import java.util.List;
import java.util.stream.DoubleStream;

/** Latencies of one thing, measured again and again, in milliseconds. */
public final class Samples {
  private double[] room = new double[16];
  private int count;

  /** Adds one. */
  public void add(double value) {
    if (count == room.length) {
      room = Arrays.copyOf(room, 2 * count);
    }
    room[count++] = value;
  }

  public int count() {
    return count;
  }

  public double median() {
    return Medians.of(values());
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
    double[] sorted = added().toArray();
    Arrays.sort(sorted);
    return quantile(sorted, share);
  }

  /** The same of values in ascending order, one at least. */
  public static double quantile(double[] ascending, double share) {
    return ascending[(int) Math.round(share * (ascending.length - 1))];
  }

  /** In the order in which they were measured. */
  public List<Double> values() {
    return added().boxed().toList();
  }

  private DoubleStream added() {
    return Arrays.stream(room, 0, count);
  }
}
