package io.pipelane.lanes.assignment;

/** The identity of a lane, never used again once the lane is closed. */
public record LaneId(long number) {
  @Override
  public String toString() {
    return "lane " + number;
  }
}
