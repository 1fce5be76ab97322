package io.pipelane.switcher.simulator;

import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.switcher.grouping.Grouping;

/**
 * The resources of a simulated device, and how it is used.
 *
 * @param capacityBytes of weights that it may hold, in whole pages
 * @param lanes runs at a time; they do not slow each other down
 * @param friction of copies and runs
 */
public record SimulatorSettings(
    long capacityBytes,
    long pageBytes,
    int lanes,
    Grouping grouping,
    ResidencyConfig residency,
    Friction friction) {

  /** A device whose copies and runs cost each other nothing. */
  public SimulatorSettings(
      long capacityBytes, long pageBytes, int lanes, Grouping grouping, ResidencyConfig residency) {
    this(capacityBytes, pageBytes, lanes, grouping, residency, Friction.NONE);
  }

  int capacityPages() {
    return Math.toIntExact(capacityBytes / pageBytes);
  }
}
