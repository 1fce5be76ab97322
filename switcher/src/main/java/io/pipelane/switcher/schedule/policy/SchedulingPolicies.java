package io.pipelane.switcher.schedule.policy;

import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import io.pipelane.switcher.sharing.gate.OfflineGate;

/** The policies by their names in a configuration. */
public final class SchedulingPolicies {
  private static final double PERCENT = 100;

  /** How often a request that does not fit into memory is passed by others that do. */
  private static final int MOST_SKIPS = 64;

  private SchedulingPolicies() {}

  /**
   * A policy with empty lines, one for each class of requests.
   *
   * @param room what is left of the device's memory
   */
  public static SchedulingPolicy of(SchedulingConfig config, Estimates estimates, Room room) {
    return of(config, estimates, room, OfflineGate.open(System::nanoTime));
  }

  /**
   * The same where offline requests may have to wait.
   *
   * @param gate says when they need not
   */
  public static SchedulingPolicy of(
      SchedulingConfig config, Estimates estimates, Room room, OfflineGate gate) {
    return new PriorityClasses(
        ofOneClass(config, estimates, room),
        ofOneClass(config, estimates, room),
        estimates,
        config.offlineSharePercent() / PERCENT,
        gate);
  }

  private static SchedulingPolicy ofOneClass(
      SchedulingConfig config, Estimates estimates, Room room) {
    return switch (config.policy()) {
      case SRTF -> new ShortestRemainingFirst(estimates, config.ageingPercent() / PERCENT);
      case EDF -> new EarliestDeadlineFirst();
      case FAIR ->
          new FairSharing(
              estimates, room, config.fairMeasure(), config.fairWorkConserving() ? MOST_SKIPS : 0);
      case PACK -> new FirstThatFits(room, MOST_SKIPS);
      case FIFO -> new FirstComeFirstServed();
    };
  }
}
