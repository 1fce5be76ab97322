package io.pipelane.lanes.execution;

import io.pipelane.lanes.EphemeralRegion;

/** The right to run one iteration in a lane, alone until it is closed. */
public final class LaneLease implements AutoCloseable {
  private final Lanes lanes;
  private final Lanes.Lane lane;
  private final String job;
  private final boolean mayGrow;

  LaneLease(Lanes lanes, Lanes.Lane lane, String job, boolean mayGrow) {
    this.lanes = lanes;
    this.lane = lane;
    this.job = job;
    this.mayGrow = mayGrow;
  }

  /** The lane's memory, empty at the beginning and at the end of the iteration. */
  public EphemeralRegion region() {
    return lane.region;
  }

  /**
   * Makes the lane larger for one more allocation, where it may grow and the safety condition
   * allows it.
   *
   * @return false when it does not
   */
  public boolean grow(long bytes) {
    return mayGrow && lanes.grow(lane, job, bytes);
  }

  @Override
  public void close() {
    lanes.leave(lane, job);
  }
}
