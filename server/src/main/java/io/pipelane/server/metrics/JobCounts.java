package io.pipelane.server.metrics;

import java.util.Map;

/**
 * The counts of jobs as the metrics tell them.
 *
 * @param states how many jobs are in each, every state among them
 * @param rows items that have their row, of all jobs that are remembered
 * @param failed those of them whose row is an error
 */
public record JobCounts(Map<String, Integer> states, long rows, long failed) {
  /** Where there are no jobs. */
  public static final JobCounts NONE = new JobCounts(Map.of(), 0, 0);

  public JobCounts {
    states = Map.copyOf(states);
  }
}
