package io.pipelane.switcher.sharing.gate;

import io.pipelane.switcher.sharing.monitor.SharingState;
import io.pipelane.switcher.sharing.trial.ShareTrial;
import java.util.function.LongSupplier;

/**
 * The limits that a device sets to offline work, online work in flight aside: by its state, by the
 * throttles and by what is measured of online work alone. Safe for any thread.
 */
final class DeviceAllowance {
  private final ShareTrial trial;
  private final LongSupplier nanoClock;
  private volatile SharingState state = SharingState.HEALTHY;
  private volatile double share = 1;
  private volatile boolean lifted;
  private volatile boolean over;

  DeviceAllowance(ShareTrial trial, LongSupplier nanoClock) {
    this.trial = trial;
    this.nanoClock = nanoClock;
  }

  /** The device's state, from now on; returns whether it was another. */
  boolean setState(SharingState now) {
    boolean changes = now != state;
    state = now;
    return changes;
  }

  /** What the throttles let it have of its own speed from now on; returns what it was before. */
  double setShare(double now) {
    double before = share;
    share = now;
    return before;
  }

  /** From now on nothing of this holds offline work. */
  void lift() {
    lifted = true;
  }

  boolean isLifted() {
    return lifted;
  }

  /** From now on nothing at all holds it: what has begun comes to its end. */
  void end() {
    over = true;
  }

  boolean isOver() {
    return over;
  }

  /** Whether offline runs may begin. */
  boolean takesRuns() {
    return (lifted || state.takesOfflineWork()) && holdsNanos() == 0;
  }

  /** Whether a healthy device leaves runs more than that of their own speed, lifted or not. */
  boolean isHealthyAbove(double speed) {
    return state.takesOfflineWork() && share > speed;
  }

  /** What runs may have of their own speed, but for what is measured; 0 stops them. */
  double speed() {
    return state.stopsOfflineWork() && !lifted ? 0 : throttledSpeed();
  }

  /** The same of a run that comes to its end whatever the device's state. */
  double throttledSpeed() {
    return lifted ? 1 : share;
  }

  /** How long runs stand at most, from now on, as online work is measured alone. */
  long holdsNanos() {
    return trial.holdsOffline() && !lifted ? trial.holdsOfflineNanos(nanoClock.getAsLong()) : 0;
  }
}
