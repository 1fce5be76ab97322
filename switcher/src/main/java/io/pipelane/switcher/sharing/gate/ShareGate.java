package io.pipelane.switcher.sharing.gate;

import io.pipelane.switcher.sharing.trial.ShareTrial;

/**
 * The gate of offline work in the lane that keeps to a share of the device, beside online work,
 * while that pays ({@link ShareTrial}). Safe for any thread.
 */
public final class ShareGate {
  /*
   * A run there cannot go on elsewhere, so once it has begun it goes on to its end, whether the
   * share is closed meanwhile or online work ends.
   *
   * Where offline work has nothing else, a run cannot be told to make way, as there is no other
   * place in which it could begin anew. So it does not stand while the device is overloaded: it may
   * be what it holds itself that overloads the device, and nobody would take that from it.
   */

  /** Of its own speed: where the throttle leaves less, nothing runs beside online work. */
  private static final double LEAST_SPEED = 0.5;

  private final boolean alone;
  private final ShareTrial trial;
  private final DeviceAllowance allowance;
  private final OnlineWork online;
  private final OfflineRuns runs;

  /**
   * As open as the trial says.
   *
   * @param alone whether offline work has its share of the device and nothing else, while that is
   *     open
   */
  ShareGate(
      boolean alone,
      ShareTrial trial,
      DeviceAllowance allowance,
      OnlineWork online,
      OfflineRuns runs) {
    this.alone = alone;
    this.trial = trial;
    this.allowance = allowance;
    this.online = online;
    this.runs = runs;
  }

  /** Whether offline work runs here or nowhere. */
  public boolean isOnlyWay() {
    return alone && trial.isOpen() && !allowance.isLifted() && !allowance.isOver();
  }

  /** Whether a run may begin: it is for the time in which others are held. */
  public boolean mayBegin() {
    return trial.isOpen()
        && !allowance.isOver()
        && allowance.isHealthyAbove(LEAST_SPEED)
        && (isOnlyWay() || online.isInFlight());
  }

  /** Whether the run that has begun may compute. */
  public boolean mayCompute() {
    return allowance.isOver()
        || online.isWaitingForMemory()
        || (speed() > LEAST_SPEED && allowance.holdsNanos() == 0);
  }

  /** How long a run that may not compute waits at most before it asks again; 0 until it is told. */
  public long holdsNanos() {
    return allowance.holdsNanos();
  }

  private double speed() {
    return alone ? allowance.throttledSpeed() : allowance.speed();
  }

  /** A run begins. */
  public void begin(OfflineRun run) {
    runs.beginInShare(run);
  }

  /** It has ended. */
  public void end() {
    runs.endInShare();
  }
}
