package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.execution.TimedGates;

/**
 * A listener that measures how long a run has its thread launch kernels, and wait for them where
 * values of the device say what comes next, without the waits at its gates. Weights that its stream
 * waits for meanwhile count.
 */
final class LaunchClock implements TimedGates {
  private final WeightWaits waits;
  private volatile long beginNanos;
  private volatile boolean launches;

  /** Tells the waits of every gate. */
  LaunchClock(WeightWaits waits) {
    this.waits = waits;
  }

  @Override
  public void reached(int gate) {
    launches = false;
    waits.reached(gate);
    beginNanos = System.nanoTime();
    launches = true;
  }

  @Override
  public long computingNanos(long nowNanos) {
    return launches ? nowNanos - beginNanos : 0;
  }
}
