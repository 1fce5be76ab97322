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

  /**
   * What somebody could take at most beside what he has himself, were nothing else taken: more than
   * that is of no use to wait for. Without bound where it does not say otherwise.
   */
  default long mostBeside(long ownBytes) {
    return Long.MAX_VALUE;
  }

  /** Gives back what was taken. */
  void releasePersistent(long bytes);
}
