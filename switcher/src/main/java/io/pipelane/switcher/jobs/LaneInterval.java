package io.pipelane.switcher.jobs;

import io.pipelane.lanes.assignment.LaneId;

/** A stretch of time in which a lane ran iterations of one job, one after another. */
public record LaneInterval(String job, LaneId lane, long fromNanos, long toNanos) {
  public long nanos() {
    return toNanos - fromNanos;
  }
}
