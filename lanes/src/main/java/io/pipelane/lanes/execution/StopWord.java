package io.pipelane.lanes.execution;

/**
 * Keeps a run that computes in another process from its next segment, and lets it go on. Used by
 * one thread at a time.
 */
@FunctionalInterface
public interface StopWord {
  /** Stops the run at its next gate, or lets it go on; returns at once. */
  void set(boolean stop);
}
