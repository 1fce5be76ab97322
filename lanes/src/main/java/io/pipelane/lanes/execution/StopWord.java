package io.pipelane.lanes.execution;

import io.pipelane.config.StatusException;

/**
 * The server's control over a run that computes in another process: keeps it from its next segment,
 * slows it down, lets it go on, or ends it. Used by one thread at a time.
 */
public interface StopWord {
  /**
   * Whether the run can be stopped between two segments and go on later; one that a device is given
   * whole heeds {@link #allow} nowhere.
   */
  boolean stops();

  /**
   * Says what the run may have of its own speed from its next gate on; returns at once. A share is
   * kept by a pause after each segment.
   *
   * @param share 0 stops it, 1 lets it go on as fast as it can
   */
  void allow(double share);

  /**
   * Says when work is expected that goes before the run's: a segment that would run into it waits
   * until it has come or is late. Returns at once.
   *
   * @param fromNanos from now
   * @param untilNanos from now, after which it is late; 0 where none is expected
   */
  void expect(long fromNanos, long untilNanos);

  /**
   * Has the run end at its next gate, if it comes to one, with a reason: nobody wants it any more.
   * Returns at once; the run may come to its end all the same. Nothing else is heeded afterwards.
   */
  void end(StatusException reason);

  /**
   * Whether the run stands at a gate, as far as is known: one that was stopped computes on to it.
   */
  boolean stands();
}
