package io.pipelane.switcher.sharing.monitor;

/**
 * The load of a device as MuxFlow has it (§4.1, equations 1 and 2): U_GPU = U_SM × c(C_SM).
 *
 * @param threshold the clock T that online work alone has, as a share of the highest, below 1
 * @param lowClock k_L, what a clock below the threshold weighs; much more than {@code highClock}
 * @param highClock k_H, what a clock above it weighs
 */
public record DeviceLoad(double threshold, double lowClock, double highClock) {
  public DeviceLoad {
    if (!(threshold > 0 && threshold < 1) || lowClock < 0 || highClock < 0 || highClock > 1) {
      throw new IllegalArgumentException(
          "threshold %s, low %s, high %s".formatted(threshold, lowClock, highClock));
    }
  }

  /**
   * The factor c of equation 2: above 1 where the clock has fallen below the threshold.
   *
   * @param clock as a share of the highest
   */
  double clockFactor(double clock) {
    return clock < threshold
        ? 1 + lowClock * (threshold - clock) / threshold
        : 1 - highClock * (clock - threshold) / (1 - threshold);
  }

  /**
   * Equation 1.
   *
   * @param activity U_SM, the share of multiprocessors that are busy
   * @param clock as a share of the highest
   */
  public double of(double activity, double clock) {
    return activity * clockFactor(clock);
  }
}
