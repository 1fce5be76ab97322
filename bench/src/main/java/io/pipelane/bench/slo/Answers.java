package io.pipelane.bench.slo;

import io.pipelane.bench.report.Results;
import java.util.Arrays;

/** The outcome of the requests of a time. */
final class Answers {
  private static final double PERCENT = 100;

  private final double[] millis;
  private final double seconds;

  /**
   * @param millis by request, from its coming to its answer; not a number for one that was refused
   * @param seconds that they came within
   */
  Answers(double[] millis, double seconds) {
    this.millis = millis.clone();
    this.seconds = seconds;
  }

  /** Adds what is told of them. */
  void tell(String row, double objective, Results results) {
    double[] answered =
        Arrays.stream(millis).filter(latency -> !Double.isNaN(latency)).sorted().toArray();
    double inTime = Arrays.stream(answered).filter(latency -> latency <= objective).count();
    results.add(row, SloColumns.OFFERED, millis.length / seconds);
    results.add(row, SloColumns.ADMITTED, PERCENT * answered.length / Math.max(1, millis.length));
    results.add(row, SloColumns.COUNT, (double) answered.length);
    results.add(row, SloColumns.ATTAINMENT, PERCENT * inTime / Math.max(1, answered.length));
    results.add(row, SloColumns.GOODPUT, inTime / seconds);
    results.add(row, SloColumns.P50, quantile(answered, 0.5));
    results.add(row, SloColumns.P99, quantile(answered, 0.99));
    results.add(row, SloColumns.MOST, quantile(answered, 1));
  }

  private static double quantile(double[] sorted, double share) {
    int rank = (int) Math.ceil(share * sorted.length);
    return sorted.length == 0 ? Double.NaN : sorted[Math.max(0, rank - 1)];
  }
}
