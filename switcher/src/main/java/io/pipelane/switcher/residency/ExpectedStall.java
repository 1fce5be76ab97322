package io.pipelane.switcher.residency;

/**
 * The policy that keeps the pages that save the most waiting: the rate of a model's requests times
 * what the page saves each of them. A model loses its last page first, so what stays is a prefix.
 */
public final class ExpectedStall implements ResidencyPolicy {
  /*
   * Gains fall from page to page (StallCurve), so taking the page of least worth, again and again,
   * is the greedy algorithm for a separable convex resource allocation, which is exact (Fox, 1966).
   * A part of a unit goes as a whole, and all that the unit saves goes with it (Unit).
   *
   * Worth is a logarithm: products of a rate and a gain in order, at any time (Usage).
   */
  private final long originNanos;

  /** Orders uses as seen from a moment, any one. */
  public ExpectedStall(long originNanos) {
    this.originNanos = originNanos;
  }

  @Override
  public double worth(Holding holding) {
    return holding.keptForLogarithm(originNanos) + Math.log(holding.gainOfLastNanos());
  }

  @Override
  public void used(Holding holding) {}

  @Override
  public int givesWay(Holding holding) {
    return holding.unit() == null ? 1 : holding.pages;
  }

  @Override
  public boolean plansAhead() {
    return true;
  }
}
