package io.pipelane.loadgen.arrival;

import io.pipelane.loadgen.settings.Trace;

/** The requests of a trace, at its times. */
final class ReplayedTrace implements Arrivals {
  private final long start;
  private final Trace trace;
  private int next;

  ReplayedTrace(long start, Trace trace) {
    this.start = start;
    this.trace = trace;
  }

  @Override
  public long peek(long now) {
    return next < trace.size() ? start + trace.offsetNanos(next) : NEVER;
  }

  @Override
  public void take() {
    next++;
  }

  @Override
  public int model() {
    return trace.model(next);
  }

  @Override
  public int variant() {
    return trace.variant(next);
  }
}
