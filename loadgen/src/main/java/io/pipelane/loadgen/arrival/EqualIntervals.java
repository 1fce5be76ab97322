package io.pipelane.loadgen.arrival;

/** Requests at equal intervals, each computed from the start so that rounding does not add up. */
final class EqualIntervals implements Arrivals {
  private final long start;
  private final double intervalNanos;
  private long taken;

  EqualIntervals(long start, double perSecond) {
    this.start = start;
    this.intervalNanos = 1e9 / perSecond;
  }

  @Override
  public long peek(long now) {
    return start + (long) (taken * intervalNanos);
  }

  @Override
  public void take() {
    taken++;
  }
}
