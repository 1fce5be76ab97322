package io.pipelane.bench.measure;

import java.util.List;

/** Medians of measured values. */
public final class Medians {
  private Medians() {}

  /** The middle of the sorted values, or the mean of the middle two; at least one is needed. */
  public static double of(List<Double> values) {
    if (values.isEmpty()) {
      throw new IllegalArgumentException("there is no median of nothing");
    }
    List<Double> sorted = values.stream().sorted().toList();
    int middle = sorted.size() / 2;
    return sorted.size() % 2 == 1
        ? sorted.get(middle)
        : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
  }
}
