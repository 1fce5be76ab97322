package io.pipelane.switcher.sharing.gate;

import java.util.concurrent.atomic.DoubleAdder;

/**
 * The activity of a device's multiprocessors, estimated from runs' times: a run is taken to have
 * the whole device, or its share of it. {@link #activity} belongs to one thread.
 */
public final class RunTime {
  /* A run counts when it ends, so readings are averaged over more than most runs take. */
  private static final double SETTLING_SECONDS = 0.5;

  private final DoubleAdder nanos = new DoubleAdder();
  private double seenNanos;
  private double activity;

  /** A run has ended that had the whole device while it computed; for any thread. */
  public void ran(long computedNanos) {
    ran(computedNanos, 1);
  }

  /**
   * One has ended that had a share of it.
   *
   * @param computedNanos without what it waited for
   * @param share of the multiprocessors that it had
   */
  public void ran(long computedNanos, double share) {
    nanos.add(computedNanos * share);
  }

  /**
   * The share of multiprocessors that were busy, at most 1.
   *
   * @param seconds since it was asked before
   */
  public double activity(double seconds) {
    double now = nanos.sum();
    if (seconds > 0) {
      double weight = Math.min(1, seconds / SETTLING_SECONDS);
      activity += weight * ((now - seenNanos) / (seconds * 1e9) - activity);
      seenNanos = now;
    }
    return Math.clamp(activity, 0.0, 1.0);
  }
}
