package io.pipelane.switcher.residency;

import io.pipelane.config.section.ResidencyConfig;

/** The policies by the names that a configuration gives them. */
public final class Policies {
  private Policies() {}

  /**
   * Makes a policy, for one {@link Holdings}.
   *
   * @param originNanos any moment of the clock that uses are noted by
   */
  public static ResidencyPolicy of(ResidencyConfig.Policy name, long originNanos) {
    return switch (name) {
      case EXPECTED_STALL -> new ExpectedStall(originNanos);
      case LRU -> new WholeModels.LeastRecentlyUsed();
      case LFU -> new WholeModels.LeastFrequentlyUsed(originNanos);
      case GREEDY_DUAL_SIZE -> new WholeModels.GreedyDualSize();
      case NOTHING_STAYS -> new WholeModels.NothingStays();
    };
  }
}
