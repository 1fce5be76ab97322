package io.pipelane.switcher.sharing;

import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * A device's memory beside the pages that the server took at its start. What is used of it says
 * whether memory is about to run out, as pages are neither more nor less whatever lies in them.
 *
 * @param pagesShare of the device's memory; 0 where it is not known
 */
record MemoryBeside(double pagesShare) {
  /** What is left beside pages, at least, whatever rounding makes of it. */
  private static final double LEAST = 1e-3;

  static MemoryBeside of(OptionalLong deviceBytes, long pagesBytes) {
    return new MemoryBeside(
        deviceBytes.isPresent() && deviceBytes.getAsLong() > 0
            ? Math.min(1 - LEAST, (double) pagesBytes / deviceBytes.getAsLong())
            : 0);
  }

  /**
   * How much of it is used, within 0 to 1.
   *
   * @param ofDevice how much of the device's memory is, pages included; empty where not known
   */
  OptionalDouble used(OptionalDouble ofDevice) {
    return ofDevice.isEmpty()
        ? ofDevice
        : OptionalDouble.of(Math.max(0, (ofDevice.getAsDouble() - pagesShare) / (1 - pagesShare)));
  }
}
