package io.pipelane.switcher.sharing.gate;

/**
 * The throttle of offline work's speed, so that a device's load stays at a target: a PID controller
 * (MuxFlow §4.1, workload level). Belongs to one thread.
 */
public final class LaunchThrottle {
  /*
   * Velocity form: each step changes the share by what the three terms have changed, and the share
   * is kept between its bounds. So nothing winds up while it is at a bound: the first error of the
   * other sign moves it. Offline work at full speed loads a device by at most 1. So the loop's gain
   * is at most PROPORTIONAL + INTEGRAL × step + DERIVATIVE / step, far below what would swing with
   * a sample's delay.
   *
   * A step is a tenth of a second, however often the device is looked at; its load is the mean over
   * that time. So the terms mean the same with every monitor, and what a single look is off by is
   * not steered by.
   */
  public static final double LEAST_SHARE = 0.02;
  private static final double PROPORTIONAL = 0.3;
  private static final double INTEGRAL_PER_SECOND = 1.5;
  private static final double DERIVATIVE_SECONDS = 0.01;
  private static final double LONGEST_STEP_SECONDS = 0.25;

  /** A little less than a tenth of a second: looks are not that regular. */
  private static final double STEP_SECONDS = 0.095;

  private final double target;
  private final double leastShare;
  private double share = 1;
  private double latestError;
  private double latestChange;
  private double sinceStepSeconds;
  private double loadedSeconds;

  /**
   * Throttles nothing yet.
   *
   * @param target load, above 0
   */
  public LaunchThrottle(double target) {
    this(target, LEAST_SHARE);
  }

  /**
   * Throttles nothing yet.
   *
   * @param leastShare that offline work keeps; 0 to have it stopped
   */
  LaunchThrottle(double target, double leastShare) {
    this.target = target;
    this.leastShare = leastShare;
  }

  /**
   * Steers by what the device was loaded, once that is known of a whole step.
   *
   * @param load of the device, all work together
   * @param seconds since the sample before
   * @return the share from now on, between the least, {@link #LEAST_SHARE} unless said, and 1
   */
  public double update(double load, double seconds) {
    loadedSeconds += load * seconds;
    sinceStepSeconds += seconds;
    if (sinceStepSeconds >= STEP_SECONDS) {
      steer(loadedSeconds / sinceStepSeconds, Math.min(sinceStepSeconds, LONGEST_STEP_SECONDS));
      loadedSeconds = 0;
      sinceStepSeconds = 0;
    }
    return share;
  }

  private void steer(double load, double step) {
    double error = target - load;
    double change = error - latestError;
    double delta =
        PROPORTIONAL * change
            + INTEGRAL_PER_SECOND * error * step
            + DERIVATIVE_SECONDS * (change - latestChange) / step;
    latestError = error;
    latestChange = change;
    // A load that is not above the target is no reason to slow down, however fast it has risen.
    share = Math.clamp(share + (error >= 0 ? Math.max(0, delta) : delta), leastShare, 1.0);
  }

  /** The share that the latest sample has led to. */
  public double share() {
    return share;
  }
}
