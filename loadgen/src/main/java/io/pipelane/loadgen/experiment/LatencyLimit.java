package io.pipelane.loadgen.experiment;

/**
 * The limit that a server has to hold: a percentile of the response time, with errors no more than
 * one request in a hundred. Response times include what the generator itself was late, so a load
 * that held the limit in spite of it was held by the server.
 *
 * @param percentile from 0 to 100
 */
public record LatencyLimit(double percentile, double millis) {
  private static final double TOLERATED_ERRORS = 0.01;

  public LatencyLimit {
    if (!(percentile > 0 && percentile <= 100)) {
      throw new IllegalArgumentException(
          "the limit's percentile must be above 0 and at most 100: " + percentile);
    }
    if (!(millis > 0)) {
      throw new IllegalArgumentException("the latency limit must be above 0 ms: " + millis);
    }
  }

  /** Whether a load was borne, on the average of its runs. */
  public boolean holds(Step step) {
    return isAnswered(step) && step.responseNanos(percentile).mean() <= millis * 1e6;
  }

  /** Whether a load had no more errors than the limit bears, however late its answers were. */
  boolean isAnswered(Step step) {
    double errors = step.estimate(report -> report.total().errorCount()).mean();
    double answers = step.estimate(report -> report.total().answered()).mean();
    return answers > 0 && errors <= TOLERATED_ERRORS * (answers + errors);
  }
}
