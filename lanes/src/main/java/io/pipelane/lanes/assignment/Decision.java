package io.pipelane.lanes.assignment;

/** What became of a job that asked for a lane. */
public sealed interface Decision {
  Job job();

  /** The job has a lane. */
  sealed interface Assigned extends Decision {
    LaneId lane();
  }

  /** The job has a new lane, as large as its ephemeral memory. */
  record Opened(Job job, LaneId lane) implements Assigned {}

  /** The job shares a lane that was large enough. */
  record Joined(Job job, LaneId lane) implements Assigned {}

  /** The job shares a lane that has grown from {@code formerBytes} to its ephemeral memory. */
  record Replaced(Job job, LaneId lane, long formerBytes) implements Assigned {}

  /** There is no room now; the job is pending and is tried again whenever memory comes free. */
  record NotFound(Job job) implements Decision {}
}
