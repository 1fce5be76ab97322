package io.pipelane.loadgen.result;

import java.time.Duration;
import org.HdrHistogram.Histogram;

/**
 * The events of one short stretch of a measurement, for charts over time.
 *
 * @param start from the beginning of the measurement
 * @param responseNanos of requests meant to leave within the slice, two digits
 * @param answers good answers that came within it
 * @param cold answers among the histogram's that the server called cold
 */
public record Slice(
    Duration start,
    Duration length,
    Histogram responseNanos,
    long answers,
    long errors,
    long cold) {}
