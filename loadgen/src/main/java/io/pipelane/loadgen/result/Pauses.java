package io.pipelane.loadgen.result;

import java.time.Duration;

/**
 * The pauses in which the generator itself stood still: a timer that goes off every few
 * milliseconds did so more than a millisecond late. Collections, other work on the machine and too
 * much of its own do that.
 *
 * @param delay what something that happens at any time would have been delayed by, at its 99th
 *     percentile
 */
public record Pauses(long count, Duration total, Duration longest, Duration delay) {}
