package io.pipelane.switcher.residency;

/**
 * The policies that keep a model whole or not at all, as caches do.
 *
 * <p>What they have in common: a model that gives way loses everything.
 */
abstract sealed class WholeModels implements ResidencyPolicy {
  @Override
  public int givesWay(Holding holding) {
    return holding.pages;
  }

  @Override
  public double worth(Holding holding) {
    return holding.noted;
  }

  /** The policy by which the model gives way that was used longest ago. */
  static sealed class LeastRecentlyUsed extends WholeModels {
    private long uses;

    @Override
    public void used(Holding holding) {
      holding.noted = ++uses;
    }
  }

  /** PipeSwitch's policy: every run begins with nothing on the device. */
  static final class NothingStays extends LeastRecentlyUsed {
    @Override
    public boolean keepsAfterRuns() {
      return false;
    }
  }

  /**
   * The policy by which the model gives way that is used least often; uses count half after a
   * while.
   */
  static final class LeastFrequentlyUsed extends WholeModels {
    private final long originNanos;

    LeastFrequentlyUsed(long originNanos) {
      this.originNanos = originNanos;
    }

    @Override
    public void used(Holding holding) {
      holding.noted = holding.usage.logarithmAt(originNanos);
    }
  }

  /**
   * The policy by which the model gives way whose return would cost least per byte
   * (GreedyDual-Size: Cao and Irani, USITS 1997). Those that stay age by as much. The cost is what
   * a run waits for a model of which nothing is there.
   */
  static final class GreedyDualSize extends WholeModels {
    private double inflation;

    @Override
    public void used(Holding holding) {
      holding.noted = inflation + holding.curve.nanos(0) / Math.max(1, holding.curve.pages());
    }

    @Override
    public void gaveWay(Holding holding) {
      inflation = Math.max(inflation, holding.noted);
    }
  }
}
