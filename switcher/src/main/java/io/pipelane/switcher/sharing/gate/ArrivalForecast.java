package io.pipelane.switcher.sharing.gate;

import org.jspecify.annotations.Nullable;

/**
 * A forecast of the next request from those before: by their mean gap, and where gaps are regular
 * by the time since the latest. Not safe for several threads.
 */
final class ArrivalForecast {
  /*
   * Mean and mean absolute deviation of gaps are averaged exponentially, as TCP does with round
   * trips (Jacobson, 1988). Random arrivals (Poisson) have no memory: their deviation is 0.74 of
   * the mean, and the time since the latest says nothing. Below REGULAR it does say something.
   *
   * A pause is no gap: it says nothing of requests after it, so with them the averages begin anew.
   * Random arrivals have a gap of so many means once in millions.
   */
  private static final double WEIGHT = 1.0 / 8;
  private static final double REGULAR = 0.25;
  private static final int LEAST_GAPS = 4;
  private static final int MEANS_OF_A_PAUSE = 16;
  private static final long QUIET_NANOS = 1_000_000_000;

  private long latestNanos;
  private long arrivals;
  private double gapNanos;
  private double deviationNanos;

  /** Notes a request. */
  void arrived(long nowNanos) {
    if (isAfterPause(nowNanos)) {
      arrivals = 0;
      deviationNanos = 0;
    }
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

  private boolean isAfterPause(long nowNanos) {
    return arrivals > LEAST_GAPS
        && isQuiet(nowNanos)
        && nowNanos - latestNanos > MEANS_OF_A_PAUSE * gapNanos;
  }

  /**
   * When the next request comes; null where that cannot be told. It is late after twice the
   * deviation of regular gaps.
   */
  @Nullable ExpectedArrival next() {
    if (arrivals <= LEAST_GAPS || deviationNanos > REGULAR * gapNanos) {
      return null;
    }
    return new ExpectedArrival(
        latestNanos + (long) gapNanos,
        latestNanos + (long) Math.ceil(gapNanos + 2 * deviationNanos));
  }

  /**
   * How long work of a certain length has to wait for the next request, which is expected while it
   * would last; 0 for not at all. A request that does not come is waited for no longer than until
   * it is late.
   *
   * @param workNanos how long the work would last
   */
  long waitNanos(long workNanos, long nowNanos) {
    @Nullable ExpectedArrival expected = next();
    return expected == null || workNanos <= 0 ? 0 : expected.waitNanos(workNanos, nowNanos);
  }

  /** Whether no request has come for a while. */
  boolean isQuiet(long nowNanos) {
    return arrivals == 0 || nowNanos - latestNanos >= QUIET_NANOS;
  }

  /** Requests a second, lately, of which none may have come since; 0 while that is not known. */
  double perSecond(long nowNanos) {
    double gap = Math.max(gapNanos, (double) (nowNanos - latestNanos));
    return arrivals > LEAST_GAPS && gap > 0 ? 1e9 / gap : 0;
  }
}
