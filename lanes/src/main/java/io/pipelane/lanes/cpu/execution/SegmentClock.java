package io.pipelane.lanes.cpu.execution;

import io.pipelane.lanes.execution.TimedGates;
import io.pipelane.lanes.execution.WeightArrivals;

/**
 * A listener that has a run on the processor wait at its gates, and measures what lies between
 * them. Belongs to the run's thread, but for {@link #computingNanos}.
 */
final class SegmentClock implements TimedGates {
  private final WeightArrivals weights;
  private final long[] nanos;
  private int segment;
  private volatile long beginNanos;
  private volatile boolean computes;

  /** Waits for the weights of the first segment. */
  SegmentClock(WeightArrivals weights, int segments) {
    this.weights = weights;
    this.nanos = new long[segments];
    weights.await(0);
  }

  /** The next segment begins, as soon as nothing more urgent is to be computed first. */
  void begin() {
    weights.giveWay(segment);
    beginNanos = System.nanoTime();
    computes = true;
  }

  @Override
  public long computingNanos(long nowNanos) {
    return computes ? nowNanos - beginNanos : 0;
  }

  @Override
  public void reached(int gate) {
    stop();
    weights.await(gate);
    segment = gate;
    begin();
  }

  private void stop() {
    computes = false;
    nanos[segment] = System.nanoTime() - beginNanos;
  }

  /** The last segment is over: tells how long each has computed. */
  void end() {
    stop();
    if (segment == nanos.length - 1) {
      weights.computed(nanos);
    }
  }
}
