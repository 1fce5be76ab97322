package io.pipelane.loadgen.experiment;

import java.util.OptionalDouble;

/**
 * A search for the highest load of a range that a server bears, by halving. It supposes that what
 * the server bears, it bears at every smaller load too. The lower end is tried first, then the
 * upper one, then loads that are whole steps above the lower end. One thread at a time.
 */
public final class RateSearch {
  private final LoadRange range;
  private double borne;
  private double refused = Double.POSITIVE_INFINITY;

  public RateSearch(LoadRange range) {
    this.range = range;
  }

  /** The load to try next; empty when the search is over. */
  public OptionalDouble next() {
    if (borne == 0) {
      return refused <= range.start() ? OptionalDouble.empty() : OptionalDouble.of(range.start());
    }
    if (refused > range.end()) {
      return borne >= range.end() ? OptionalDouble.empty() : OptionalDouble.of(range.end());
    }
    return refused - borne <= range.step() ? OptionalDouble.empty() : OptionalDouble.of(middle());
  }

  /** Both ends are more than a step apart, and the lower one is whole steps above the range's. */
  private double middle() {
    double steps = Math.floor((refused - borne) / 2 / range.step());
    return borne + Math.max(1, steps) * range.step();
  }

  /** What came of a load that was tried. */
  public void tried(double load, boolean held) {
    if (held) {
      borne = Math.max(borne, load);
    } else {
      refused = Math.min(refused, load);
    }
  }

  /** The highest load that the server bore; 0 when it bore none. */
  public double highest() {
    return borne;
  }
}
