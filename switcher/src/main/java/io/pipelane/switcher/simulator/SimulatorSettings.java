package io.pipelane.switcher.simulator;

import io.pipelane.config.ResidencyConfig;
import io.pipelane.switcher.grouping.Grouping;

/**
 * What a simulated device has, and how it is used.
 *
 * @param capacityBytes of weights that it may hold, in whole pages
 * @param lanes runs at a time; they do not slow each other down
 * @param copySlowdown of the time that copies are beside a run, what it loses; 0 on a device whose
 *     copies take nothing from runs
 */
public record SimulatorSettings(
    long capacityBytes,
    long pageBytes,
    int lanes,
    Grouping grouping,
    ResidencyConfig residency,
    double copySlowdown) {

  /** A device whose copies take nothing from runs. */
  public SimulatorSettings(
      long capacityBytes, long pageBytes, int lanes, Grouping grouping, ResidencyConfig residency) {
    this(capacityBytes, pageBytes, lanes, grouping, residency, 0);
  }

  int capacityPages() {
    return Math.toIntExact(capacityBytes / pageBytes);
  }
}
