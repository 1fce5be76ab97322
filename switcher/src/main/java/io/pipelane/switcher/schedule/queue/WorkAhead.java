package io.pipelane.switcher.schedule.queue;

import java.util.List;

/**
 * The work that a policy puts before a request that comes now.
 *
 * @param certain requests that run before it and in this order, or not at all; valid until the
 *     policy is changed
 * @param othersNanos what others take at least that may run before it, or before some of those
 */
public record WorkAhead(Iterable<QueuedRequest> certain, long othersNanos) {
  /** Nothing that is known to go before it. */
  public static final WorkAhead NONE = new WorkAhead(List.of(), 0);
}
