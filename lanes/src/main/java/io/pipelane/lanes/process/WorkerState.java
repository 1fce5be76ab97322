package io.pipelane.lanes.process;

/** The stage of a worker's life. */
public enum WorkerState {
  /** Its process has been started and is not ready. */
  STARTING,
  /** It is ready to take over. */
  STANDBY,
  /** It runs what comes, or what comes of online work. */
  ACTIVE,
  /** It runs offline work and nothing else. */
  OFFLINE,
  /** It finishes what it runs, and ends. */
  RETIRING;

  /** Whether it is a post: who has it runs what comes. */
  boolean isPost() {
    return this == ACTIVE || this == OFFLINE;
  }
}
