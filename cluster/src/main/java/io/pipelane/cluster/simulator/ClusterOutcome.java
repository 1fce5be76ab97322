package io.pipelane.cluster.simulator;

/**
 * The outcome of a day of a cluster.
 *
 * @param meanMillis of online requests
 * @param p99Millis of online requests
 * @param completionMinutes from a job's coming to its end, on the average; no number where no job
 *     has ended
 * @param makespanHours until the last job's end
 * @param oversold the time that the jobs would have taken alone, over the time for which they had a
 *     device: MuxFlow's equation 3 as its text defines it
 * @param utilization of the devices, over the day
 * @param activity of their multiprocessors, over the day
 * @param moves of running jobs to other devices
 * @param evictions from overloaded devices
 * @param unfinished jobs that had not ended a day after the day
 */
public record ClusterOutcome(
    double meanMillis,
    double p99Millis,
    double completionMinutes,
    double makespanHours,
    double oversold,
    double utilization,
    double activity,
    int moves,
    int evictions,
    int unfinished) {}
