package io.pipelane.lanes.execution;

/** Working memory for what outlives iterations, in bytes. Safe for any platform thread. */
public interface Reservations {
  /**
   * Takes some where it is free now.
   *
   * @return false when it is not; nothing is changed then
   */
  boolean tryReservePersistent(long bytes);

  /** Gives back what was taken. */
  void releasePersistent(long bytes);
}
