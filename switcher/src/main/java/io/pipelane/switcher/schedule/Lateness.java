package io.pipelane.switcher.schedule;

import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;

/**
 * Refuses requests that have been taken for a run and are not to have it, foremost those that
 * cannot be answered in time any more. Safe for any thread; called without the queue's lock.
 */
final class Lateness {
  private static final System.Logger LOG = System.getLogger(Lateness.class.getName());

  private final Estimates estimates;
  private final QueueCounters counters;

  Lateness(Estimates estimates, QueueCounters counters) {
    this.estimates = estimates;
    this.counters = counters;
  }

  /** Those of some that can be answered in time, in their order; the others have been told. */
  List<QueuedRequest> inTime(List<QueuedRequest> claimed, long nowNanos) {
    if (claimed.size() == 1) {
      return refuse(claimed.getFirst(), nowNanos) ? List.of() : claimed;
    }
    List<QueuedRequest> inTime = new ArrayList<>(claimed.size());
    for (QueuedRequest request : claimed) {
      if (!refuse(request, nowNanos)) {
        inTime.add(request);
      }
    }
    return inTime;
  }

  /** Refuses a request if it is too late for it. */
  boolean refuse(QueuedRequest request, long nowNanos) {
    if (!estimates.isTooLate(request, nowNanos)) {
      return false;
    }
    counters.late();
    tell(request, () -> request.handler().failed(estimates.tooLate(request, nowNanos)));
    return true;
  }

  /** Tells a request its end; the handler is the caller's, the thread is others'. */
  static void tell(QueuedRequest request, Runnable end) {
    try {
      end.run();
    } catch (RuntimeException | Error e) {
      LOG.log(Level.ERROR, "refusing a request for " + request.request().model() + " failed", e);
    }
  }
}
