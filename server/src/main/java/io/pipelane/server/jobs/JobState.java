package io.pipelane.server.jobs;

/** The state of a job in its life. */
public enum JobState {
  /** It waits for others to end, for its model, or for room on its disk. */
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
