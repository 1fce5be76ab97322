package io.pipelane.lanes.assignment;

/** The outcome for a job that asked for a lane. */
public sealed interface Decision {
  Job job();

  /** A decision that gives the job a lane. */
  sealed interface Assigned extends Decision {
    LaneId lane();
  }

  /** A new lane for the job, as large as its ephemeral memory. */
  record Opened(Job job, LaneId lane) implements Assigned {}

  /** A share of a lane that was large enough. */
  record Joined(Job job, LaneId lane) implements Assigned {}

  /** A share of a lane that has grown to the job's ephemeral memory. */
  record Replaced(Job job, LaneId lane) implements Assigned {}

  /**
   * A refusal for now: there is no room; the job is pending and is tried again whenever memory
   * comes free.
   */
  record NotFound(Job job) implements Decision {}
}
