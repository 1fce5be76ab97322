package io.pipelane.lanes.process.worker;

import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.process.channel.SegmentTimes;

/** A run's weights, and what the session has told of the run. Belongs to the run's thread. */
abstract class WorkerArrivals implements WeightArrivals {
  private long stallNanos;
  private SegmentTimes segments = SegmentTimes.NONE;

  @Override
  public final void stalled(long nanos) {
    stallNanos += nanos;
  }

  /** How long the run has waited. */
  final long stallNanos() {
    return stallNanos;
  }

  @Override
  public final void computed(long[] segmentNanos) {
    segments = SegmentTimes.of(segmentNanos);
  }

  /** How long its segments computed, if the session has told since this was last asked. */
  final SegmentTimes takeSegmentTimes() {
    SegmentTimes taken = segments;
    segments = SegmentTimes.NONE;
    return taken;
  }
}
