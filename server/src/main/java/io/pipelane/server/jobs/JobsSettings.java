package io.pipelane.server.jobs;

import io.pipelane.config.value.ProcessorList;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The settings by which jobs are run.
 *
 * @param folder what clients' file names are below
 * @param concurrency jobs at once
 * @param parallelItems items of one job that wait or run at once
 * @param checkpointItems items of a job whose model keeps state, from one checkpoint to the next
 * @param maxJobs that are remembered
 * @param maxItemBytes the longest line of an input
 * @param ageing the part of its waiting time that is taken off what a job needs, where the one that
 *     needs least begins first; empty where jobs begin as they came
 * @param retryPause until something that was not available is asked for again
 * @param nice how much less urgent the jobs' threads are to the processor than others, 0 to 19
 * @param processors that the jobs' threads keep to; empty for all
 */
public record JobsSettings(
    Path folder,
    int concurrency,
    int parallelItems,
    int checkpointItems,
    int maxJobs,
    int maxItemBytes,
    OptionalDouble ageing,
    Duration retryPause,
    int nice,
    Optional<ProcessorList> processors) {}
