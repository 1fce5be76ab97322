package io.pipelane.switcher.simulator;

/** The reason why bytes were moved. */
public enum CopyReason {
  /** A run wanted them. */
  DEMAND,
  /** A request in the queue was going to. */
  QUEUED,
  /** They belong to a planned prefix. */
  IDLE
}
