package io.pipelane.loadgen.result;

import org.HdrHistogram.Histogram;

/**
 * Response times by what the server told of each answer; answers it told nothing of are missing.
 */
public record WarmthSplit(Histogram warmNanos, Histogram coldNanos) {}
