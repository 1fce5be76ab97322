package io.pipelane.lanes.execution;

/**
 * Keeps a run that computes in another process from its next segment, slows it down, or lets it go
 * on. Used by one thread at a time.
 */
public interface StopWord {
  /**
   * Says what the run may have of its own speed from its next gate on; returns at once. A share is
   * kept by a pause after each segment.
   *
   * @param share 0 stops it, 1 lets it go on as fast as it can
   */
  void allow(double share);

  /**
   * Whether the run stands at a gate, as far as is known: one that was stopped computes on to it.
   */
  boolean stands();
}
