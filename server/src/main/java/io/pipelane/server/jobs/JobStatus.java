package io.pipelane.server.jobs;

import java.util.OptionalLong;

/**
 * What is told of a job.
 *
 * @param rows items that have their row
 * @param failed those of them whose row is an error
 * @param inputBytes of the input, how many lie behind, in all passes
 * @param items how many there are, once that is known
 * @param reason why it failed, or what it waits for; empty otherwise
 */
public record JobStatus(
    JobSpec spec,
    JobState state,
    long rows,
    long failed,
    long inputBytes,
    OptionalLong items,
    String reason) {

  /** How much of the input lies behind, from 0 to 1. */
  public double progress() {
    return switch (state) {
      case DONE -> 1;
      case QUEUED, RUNNING, FAILED, CANCELLED ->
          spec.inputBytes() == 0 ? 0 : inputBytes / (double) (spec.inputBytes() * spec.repeat());
    };
  }
}
