package io.pipelane.lanes.execution;

import io.pipelane.lanes.EphemeralRegion;

/** The right to run one iteration in a lane, alone until it is closed. */
public final class LaneLease implements AutoCloseable {
  private final Lanes lanes;
  private final Lanes.Lane lane;
  private final String job;

  LaneLease(Lanes lanes, Lanes.Lane lane, String job) {
    this.lanes = lanes;
    this.lane = lane;
    this.job = job;
  }

  /** The lane's memory, empty at the beginning and at the end of the iteration. */
  public EphemeralRegion region() {
    return lane.region;
  }

  /**
   * Makes the lane larger for one more allocation, where the safety condition allows it.
   *
   * @return false when it does not
   */
  public boolean grow(long bytes) {
    return lanes.grow(lane, job, bytes);
  }

  @Override
  public void close() {
    lanes.leave(lane, job);
  }
}
