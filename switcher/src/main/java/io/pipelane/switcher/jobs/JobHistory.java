package io.pipelane.switcher.jobs;

import java.util.List;

/**
 * All that happened to some jobs.
 *
 * @param records of all that have run, in the order of their ends
 * @param intervals what ran when, in the order of their beginnings
 * @param refused jobs that could not even run alone
 * @param mostBytes of the device's memory that were taken at a time
 * @param mostLanes that were open at a time
 */
public record JobHistory(
    List<JobRecord> records,
    List<LaneInterval> intervals,
    List<SimulatedJob> refused,
    long mostBytes,
    int mostLanes) {
  public JobHistory {
    records = List.copyOf(records);
    intervals = List.copyOf(intervals);
    refused = List.copyOf(refused);
  }

  /** From the first job's coming to the last one's end; 0 without jobs. */
  public long makespanNanos() {
    long first = records.stream().mapToLong(record -> record.job().arrivalNanos()).min().orElse(0);
    return records.stream().mapToLong(JobRecord::endedNanos).max().orElse(first) - first;
  }
}
