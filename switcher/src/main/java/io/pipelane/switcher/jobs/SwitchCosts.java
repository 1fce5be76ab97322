package io.pipelane.switcher.jobs;

/**
 * The costs of changing from a job to another, before the other's next iteration.
 *
 * @param changeNanos each time
 * @param bytesPerSecond at which persistent memory comes in that is not on the device; infinite
 *     where that costs nothing
 */
public record SwitchCosts(long changeNanos, double bytesPerSecond) {
  private static final double NANOS_PER_SECOND = 1e9;

  /** Changing costs nothing. */
  public static final SwitchCosts NONE = new SwitchCosts(0, Double.POSITIVE_INFINITY);

  public SwitchCosts {
    if (changeNanos < 0 || !(bytesPerSecond > 0)) {
      throw new IllegalArgumentException(
          "a change of jobs takes %d ns and loads %s bytes/s"
              .formatted(changeNanos, bytesPerSecond));
    }
  }

  long loadNanos(long bytes) {
    return Math.round(bytes / bytesPerSecond * NANOS_PER_SECOND);
  }
}
