package io.pipelane.switcher;

/**
 * Where the time of one answered request went.
 *
 * @param queueNanos from submission to the start of its run
 * @param stallNanos of the run, waiting for weights to arrive
 * @param executeNanos the run, stall included
 */
public record InferenceTimings(long queueNanos, long stallNanos, long executeNanos) {}
