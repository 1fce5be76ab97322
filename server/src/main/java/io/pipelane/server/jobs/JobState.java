package io.pipelane.server.jobs;

/** The state of a job in its life. */
public enum JobState {
  /** It waits for others to end, or for its model. */
  QUEUED,
  RUNNING,
  /** Every item has its row. */
  DONE,
  /** It cannot go on; the reason is told. */
  FAILED,
  CANCELLED;

  /** Whether nothing more happens to it. */
  public boolean isEnd() {
    return this == DONE || this == FAILED || this == CANCELLED;
  }
}
