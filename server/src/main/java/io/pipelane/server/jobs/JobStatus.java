package io.pipelane.server.jobs;

import io.pipelane.server.placement.JobPlace;
import io.pipelane.server.state.ServerState.OfflineJob;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The status of a job, as it is told.
 *
 * @param rows items that have their row
 * @param failed those of them whose row is an error
 * @param inputBytes of the input, how many lie behind, in all passes
 * @param items how many there are, once that is known
 * @param place the device that it has; empty where none is chosen for it
 * @param reason why it failed, or what it waits for; empty otherwise
 */
public record JobStatus(
    JobSpec spec,
    JobState state,
    long rows,
    long failed,
    long inputBytes,
    OptionalLong items,
    Optional<JobPlace> place,
    String reason) {

  /** The job and its device, where it has one. */
  Optional<OfflineJob> placed() {
    return place.map(at -> new OfflineJob(spec.id(), spec.model(), at));
  }

  /** How much of the input lies behind, from 0 to 1. */
  public double progress() {
    return switch (state) {
      case DONE -> 1;
      case QUEUED, RUNNING, FAILED, CANCELLED ->
          spec.inputBytes() == 0 ? 0 : inputBytes / (double) (spec.inputBytes() * spec.repeat());
    };
  }
}
