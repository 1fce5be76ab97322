package io.pipelane.switcher.sharing.gate;

/** An offline run that has begun and not ended. */
@FunctionalInterface
public interface OfflineRun {
  /**
   * Whether it computes nothing, being held at a gate or waiting for memory, and goes on only after
   * {@link OfflineRuns#goesOn}; for any thread. A run that was stopped computes on to its next
   * gate.
   */
  boolean stands();
}
