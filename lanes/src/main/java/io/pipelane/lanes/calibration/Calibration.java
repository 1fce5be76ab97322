package io.pipelane.lanes.calibration;

import java.util.Optional;

/**
 * The measurements of a device.
 *
 * @param device its name
 * @param driver what lies between it and us, with its version
 * @param link copies from host memory, prepared as the device wants it
 * @param pageBytes the unit in which memory is mapped
 * @param mapNanosPerPage of putting a page under an address
 * @param unmapNanosPerPage of taking it away
 * @param launchNanos of launching a captured graph that does next to nothing; empty where nothing
 *     is launched
 * @param products of square FP32 matrices; empty where they could not be measured
 */
public record Calibration(
    String device,
    String driver,
    LinkProfile link,
    long pageBytes,
    double mapNanosPerPage,
    double unmapNanosPerPage,
    Optional<Double> launchNanos,
    Optional<ProductRate> products) {

  /**
   * The rate of matrix products.
   *
   * @param way how it was measured, in words
   */
  public record ProductRate(double operationsPerSecond, String way) {}
}
