package io.pipelane.server.jobs;

import java.io.IOException;

/** The steps at which a job's files change, in their order. */
enum JobStep {
  WRITE_INPUT,
  WRITE_SPEC,
  PUBLISH,
  WRITE_ROW,
  FLUSH_ROWS,
  WRITE_STATE,
  WRITE_PROGRESS,
  FLUSH_PROGRESS,
  WRITE_END,
  PUBLISH_OUTPUT,
  FLUSH_OUTPUT,
  /** The job is there until then. */
  FORGET,
  /** One of its files, which nobody reads any more. */
  DELETE;

  /**
   * An observer that is told before each step; what it throws imitates a crash there, or a disk
   * that refuses the step.
   */
  @FunctionalInterface
  interface Hook {
    Hook NONE = _ -> {};

    void before(JobStep step) throws IOException;
  }
}
