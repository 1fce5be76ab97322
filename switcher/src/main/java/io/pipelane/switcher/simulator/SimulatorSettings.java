package io.pipelane.switcher.simulator;

import io.pipelane.config.ResidencyConfig;
import io.pipelane.switcher.grouping.Grouping;

/**
 * What a simulated device has, and how it is used.
 *
 * @param capacityBytes of weights that it may hold, in whole pages
 * @param lanes runs at a time; they do not slow each other down
 */
public record SimulatorSettings(
    long capacityBytes, long pageBytes, int lanes, Grouping grouping, ResidencyConfig residency) {

  int capacityPages() {
    return Math.toIntExact(capacityBytes / pageBytes);
  }
}
