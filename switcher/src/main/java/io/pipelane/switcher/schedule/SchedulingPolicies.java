package io.pipelane.switcher.schedule;

import io.pipelane.config.SchedulingConfig;

/** The policies by their names in a configuration. */
public final class SchedulingPolicies {
  private static final double PERCENT = 100;

  private SchedulingPolicies() {}

  /** A policy with an empty line. */
  public static SchedulingPolicy of(SchedulingConfig config, Estimates estimates) {
    return new OnlineFirst(line(config, estimates), line(config, estimates));
  }

  private static SchedulingPolicy line(SchedulingConfig config, Estimates estimates) {
    return switch (config.policy()) {
      case SRTF -> new ShortestRemainingFirst(estimates, config.ageingPercent() / PERCENT);
      case EDF -> new EarliestDeadlineFirst();
      case FAIR -> new FairSharing(estimates);
      case FIFO -> new FirstComeFirstServed();
    };
  }
}
