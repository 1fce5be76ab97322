package io.pipelane.switcher.simulator;

/**
 * A request of a trace.
 *
 * @param nanos since the trace's begin
 * @param model its place in the simulator's list
 */
public record TracedUse(long nanos, int model) {}
