package io.pipelane.loadgen.report;

import io.pipelane.loadgen.result.ModelReport;
import java.time.Duration;

/**
 * How well a response time was held.
 *
 * @param attainment share of all requests that were answered well within it; errors have missed it
 * @param goodput such answers per second
 */
record Objective(double attainment, double goodput) {
  static Objective of(ModelReport report, Duration limit, Duration window) {
    long within = report.responseNanos().getCountBetweenValues(0, limit.toNanos());
    long all = report.answered() + report.errorCount();
    return new Objective(
        all == 0 ? 0 : (double) within / all,
        window.isZero() ? 0 : within * 1e9 / window.toNanos());
  }
}
