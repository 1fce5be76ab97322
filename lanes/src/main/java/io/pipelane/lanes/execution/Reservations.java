package io.pipelane.lanes.execution;

/**
 * Reservations of working memory, in bytes, for what outlives iterations. Safe for any platform
 * thread.
 */
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
