package io.pipelane.switcher.sharing;

/**
 * When the next request comes, as far as those before tell: by their mean gap, and where gaps are
 * regular by the time since the latest. Not safe for several threads.
 */
final class ArrivalForecast {
  /*
   * Mean and mean absolute deviation of gaps are averaged exponentially, as TCP does with round
   * trips (Jacobson, 1988). Random arrivals (Poisson) have no memory: their deviation is 0.74 of the
   * mean, and what has passed since the latest says nothing. Below REGULAR it does.
   */
  private static final double WEIGHT = 1.0 / 8;
  private static final double REGULAR = 0.25;
  private static final int LEAST_GAPS = 4;

  private long latestNanos;
  private long arrivals;
  private double gapNanos;
  private double deviationNanos;

  /** Notes a request. */
  void arrived(long nowNanos) {
    if (arrivals > 0) {
      double gap = Math.max(0, nowNanos - latestNanos);
      if (arrivals == 1) {
        gapNanos = gap;
      }
      deviationNanos += WEIGHT * (Math.abs(gap - gapNanos) - deviationNanos);
      gapNanos += WEIGHT * (gap - gapNanos);
    }
    latestNanos = nowNanos;
    arrivals++;
  }

  /**
   * How long work of a certain length has to wait for the next request, which is expected while it
   * would last; 0 for not at all. Bounded by twice the deviation of regular gaps: a request that
   * does not come is waited for no longer.
   *
   * @param workNanos how long the work would last
   */
  long waitNanos(long workNanos, long nowNanos) {
    if (arrivals <= LEAST_GAPS || workNanos <= 0 || deviationNanos > REGULAR * gapNanos) {
      return 0;
    }
    double due = latestNanos + gapNanos - nowNanos;
    double latest = due + 2 * deviationNanos;
    return due <= workNanos && latest > 0 ? (long) Math.ceil(latest) : 0;
  }

  /** Whether no request has come for so long. */
  boolean isQuiet(long nanos, long nowNanos) {
    return arrivals == 0 || nowNanos - latestNanos >= nanos;
  }

  /** Requests a second, lately; 0 while that is not known. */
  double perSecond() {
    return arrivals > LEAST_GAPS && gapNanos > 0 ? 1e9 / gapNanos : 0;
  }
}
