package io.pipelane.switcher.jobs;

import io.pipelane.config.section.SchedulingConfig;

/**
 * The rules that jobs are simulated under.
 *
 * @param scheduling the policy, as the server would be configured
 * @param capacityBytes of the device, for persistent memory and lanes together
 * @param lanes most of them at a time; {@code fifo}, {@code edf} and {@code srtf} use one (Salus
 *     section 5.1.2)
 */
public record JobRules(
    SchedulingConfig scheduling, long capacityBytes, int lanes, SwitchCosts costs) {

  /**
   * Whether jobs get their memory in the order of their coming, as far as there is room (Salus
   * sections 4.1 and 4.3); otherwise one gets it when its turn comes, and others give theirs back
   * (section 4.2: whoever could run alone is admitted).
   */
  boolean admitsOnArrival() {
    return switch (scheduling.policy()) {
      case FAIR, PACK -> true;
      case FIFO, EDF, SRTF -> false;
    };
  }
}
