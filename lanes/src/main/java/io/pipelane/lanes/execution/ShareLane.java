package io.pipelane.lanes.execution;

import io.pipelane.lanes.Device;
import io.pipelane.lanes.EphemeralRegion;

/**
 * The lane whose work keeps to a part of the device, with memory of its own beside the other
 * lanes'. Belongs to one thread, but for what it holds.
 */
public final class ShareLane implements AutoCloseable {
  private static final long GROWTH_BYTES = 1L << 20;
  private static final double PERCENT = 100;

  private final EphemeralRegion region;
  private final long capacityBytes;
  private final int percent;

  /**
   * Reserves the lane's addresses.
   *
   * @param capacityBytes what it may take
   * @param percent of the device's multiprocessors
   * @throws io.pipelane.config.StatusException on a device that is not divided
   */
  public ShareLane(Device device, DeviceMemory memory, long capacityBytes, int percent) {
    this.capacityBytes = capacityBytes;
    this.percent = percent;
    region = device.ephemeral(capacityBytes, percent);
    region.limit(0);
    memory.add(region);
  }

  /** Of the device's multiprocessors, what its work keeps to. */
  public int percent() {
    return percent;
  }

  /** The same as a part of 1. */
  public double share() {
    return percent / PERCENT;
  }

  /** What it may take. */
  public long capacityBytes() {
    return capacityBytes;
  }

  /** What it takes now; for any thread. */
  public long heldBytes() {
    return region.limitBytes();
  }

  /**
   * Enters the lane; it keeps what earlier iterations took.
   *
   * @param ephemeralBytes what the iteration is known to need
   */
  public LaneLease enter(long ephemeralBytes) {
    long bytes = EphemeralRegion.align(Math.min(ephemeralBytes, capacityBytes));
    if (bytes > region.limitBytes()) {
      region.limit(Math.min(bytes, capacityBytes));
    }
    region.resetPeak();
    return new LaneLease(region, () -> 0, this::grow, _ -> {}, () -> {});
  }

  /** Gives its memory to the lane that is gone on in; nothing runs in this one. */
  public void leave() {
    region.limit(0);
  }

  private boolean grow(long bytes) {
    if (bytes > capacityBytes - region.peakBytes()) {
      return false;
    }
    long least = EphemeralRegion.align(region.peakBytes() + bytes);
    if (least > capacityBytes) {
      return false;
    }
    region.limit(Math.min(capacityBytes, least + GROWTH_BYTES));
    return true;
  }

  /** Gives the lane back; nothing runs in it. */
  @Override
  public void close() {
    region.close();
  }
}
