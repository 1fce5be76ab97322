package io.pipelane.lanes.execution;

import io.pipelane.lanes.EphemeralRegion;

/** A session whose weights lie in an address range of the device. */
public interface ModelSession extends AutoCloseable {
  /**
   * Runs once, on the calling platform thread, and returns when the outputs are placed.
   *
   * @param region the lane's memory: everything that the run takes comes from it, and all of it is
   *     free again at the end
   * @param weights what the run waits for before it computes with them
   * @throws OutOfDeviceMemoryException when the region has no room; nothing has been placed then
   * @throws io.pipelane.config.StatusException when the run fails, or its weights do not arrive
   */
  void run(
      Invocation invocation,
      EphemeralRegion region,
      MemoryTarget.Growth growth,
      WeightArrivals weights);

  /**
   * The device memory that it keeps between runs, memory of frameworks included that no allocator
   * of ours was asked for; it may change with a run. 0 when that is what its account shows.
   */
  default long deviceBytes() {
    return 0;
  }

  /** Gives everything back; no run may be under way. */
  @Override
  void close();
}
