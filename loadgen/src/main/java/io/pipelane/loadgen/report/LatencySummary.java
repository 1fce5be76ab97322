package io.pipelane.loadgen.report;

import java.util.List;
import org.HdrHistogram.Histogram;

/** The figures of a latency distribution that reports show, in nanoseconds. */
record LatencySummary(double mean, List<Double> percentiles, double max) {
  /** What {@link #percentiles} holds, in its order. */
  static final List<Double> PERCENTILES = List.of(50.0, 90.0, 95.0, 99.0, 99.9);

  static LatencySummary of(Histogram nanos) {
    return new LatencySummary(
        nanos.getMean(),
        PERCENTILES.stream().map(p -> (double) nanos.getValueAtPercentile(p)).toList(),
        nanos.getMaxValue());
  }

  /** How a percentile is called, like {@code p99.9}. */
  static String name(double percentile) {
    return percentile == Math.rint(percentile) ? "p" + (long) percentile : "p" + percentile;
  }
}
