package io.pipelane.lanes;

/**
 * A device whose sessions run in worker processes: its pages can be mapped there, its ranges have
 * no memory for sessions here, and accounts of its persistent memory count only.
 */
public interface SharedDevice extends Device {
  /** Where workers find what lies under the slots of the range that begins at an address. */
  ExportedSlots slotsAt(long address);

  /** Whether sessions belong to the lane that they are built for. */
  boolean boundToLane();

  /**
   * How long before and after its expected end it is worth staying awake for a run, where the
   * processor has nothing to do meanwhile.
   */
  default long awakeNanos() {
    return 0;
  }

  /** Sees whether the device still does anything for this process; blocks a platform thread. */
  default void check() {}

  /** Whether it was seen that it does not; only a new process helps then. */
  default boolean isLost() {
    return false;
  }

  /** Whether what processes take for themselves is taken of its memory. */
  default boolean isHostMemory() {
    return false;
  }

  /** Device memory that is taken beside weights, accounts and lanes, by all processes. */
  default long overheadBytes() {
    return 0;
  }
}
