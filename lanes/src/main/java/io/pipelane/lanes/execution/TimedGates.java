package io.pipelane.lanes.execution;

import io.pipelane.runtime.GateListener;

/** A listener at a run's gates that knows how long the run has computed since the last of them. */
public interface TimedGates extends GateListener {
  /**
   * How long the run has computed on its thread since its last gate; 0 while it waits there. For
   * any thread.
   */
  long computingNanos(long nowNanos);
}
