package io.pipelane.lanes.assignment;

import io.pipelane.lanes.assignment.Decision.Assigned;
import java.util.List;
import java.util.Optional;

/**
 * The consequences of a job's leaving.
 *
 * @param closed the lane that was its alone; close it before acting on {@code admitted}
 * @param admitted pending jobs that have a lane now, in the order in which they got it
 */
public record Departure(Optional<LaneId> closed, List<Assigned> admitted) {
  public Departure {
    admitted = List.copyOf(admitted);
  }
}
