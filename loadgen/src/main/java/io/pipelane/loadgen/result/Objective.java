package io.pipelane.loadgen.result;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The result of an objective for the response time.
 *
 * @param attainment share of all requests that were answered well within it; errors have missed it;
 *     null without requests
 * @param goodput such answers per second
 */
public record Objective(@Nullable Double attainment, double goodput) {
  /** Of all models together. */
  public static Objective of(LoadReport report, Duration limit) {
    return of(report.total(), limit, report.window());
  }

  /**
   * Of one model, or of some.
   *
   * @param window the time that was measured
   */
  public static Objective of(ModelReport report, Duration limit, Duration window) {
    long within = report.responseNanos().getCountBetweenValues(0, limit.toNanos());
    long all = report.answered() + report.errorCount();
    return new Objective(
        all == 0 ? null : Double.valueOf((double) within / all),
        window.isZero() ? 0 : within * 1e9 / window.toNanos());
  }
}
