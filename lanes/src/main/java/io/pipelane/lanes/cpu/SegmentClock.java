package io.pipelane.lanes.cpu;

import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.runtime.GateListener;

/**
 * A listener that has a run on the processor wait at its gates, and measures what lies between
 * them. Belongs to the run's thread.
 */
final class SegmentClock implements GateListener {
  private final WeightArrivals weights;
  private final long[] nanos;
  private int segment;
  private long beginNanos;

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
  }

  @Override
  public void reached(int gate) {
    stop();
    weights.await(gate);
    segment = gate;
    begin();
  }

  private void stop() {
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
