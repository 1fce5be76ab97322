package io.pipelane.bench.salus;

import io.pipelane.switcher.jobs.JobHistory;
import io.pipelane.switcher.jobs.JobRecord;
import java.util.Arrays;
import java.util.function.ToLongFunction;

/**
 * The figures of Salus' table 1 for a policy, in minutes.
 *
 * @param queueing from a job's coming to its first run, on the average
 * @param completion from a job's coming to its end, on the average
 * @param completion95 what 95 % of the jobs do not take longer than
 */
public record JobTimes(double makespan, double queueing, double completion, double completion95) {
  private static final double NANOS_PER_MINUTE = 60e9;
  private static final double TAIL = 0.95;

  /** Of some jobs. */
  public static JobTimes of(JobHistory history) {
    double[] completions = completions(history);
    return new JobTimes(
        history.makespanNanos() / NANOS_PER_MINUTE,
        Arrays.stream(sorted(history, JobRecord::queuedNanos)).average().orElse(0),
        Arrays.stream(completions).average().orElse(0),
        completions[(int) Math.round(TAIL * (completions.length - 1))]);
  }

  /** From coming to end, of all jobs, the shortest first. */
  public static double[] completions(JobHistory history) {
    return sorted(history, JobRecord::completionNanos);
  }

  private static double[] sorted(JobHistory history, ToLongFunction<JobRecord> nanos) {
    return history.records().stream()
        .mapToDouble(record -> nanos.applyAsLong(record) / NANOS_PER_MINUTE)
        .sorted()
        .toArray();
  }
}
