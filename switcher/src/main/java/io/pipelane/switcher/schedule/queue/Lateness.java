package io.pipelane.switcher.schedule.queue;

import io.pipelane.config.StatusException;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.LaneTimes;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The refusal of requests that cannot be answered in time: when they come, and when their turn has
 * come. Safe for any thread; called without the queue's lock, but where it says so.
 */
final class Lateness {
  private static final System.Logger LOG = System.getLogger(Lateness.class.getName());

  private final Deadlines deadlines;
  private final AnswerTimes answerTimes;
  private final QueueCounters counters;
  private volatile Consumer<InferenceRequest> whenWeightsMissed = _ -> {};

  Lateness(Estimates estimates, AnswerTimes answerTimes, QueueCounters counters) {
    this.deadlines = new Deadlines(estimates);
    this.answerTimes = answerTimes;
    this.counters = counters;
  }

  /** Has somebody told of those that might be in time with their models' weights on the device. */
  void onWeightsMissed(Consumer<InferenceRequest> listener) {
    whenWeightsMissed = listener;
  }

  /**
   * Refuses a request that comes too late for any run.
   *
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} for such a one
   */
  void requireInTime(QueuedRequest request, long nowNanos) {
    if (deadlines.isTooLate(request, nowNanos)) {
      countComing(request, nowNanos);
      throw deadlines.tooLate(request, nowNanos);
    }
  }

  /**
   * Refuses a request that comes too late behind others; with the queue's lock held.
   *
   * @throws StatusException as {@link AnswerTimes#admit}
   */
  void requireInTimeBehind(
      QueuedRequest request, LaneTimes runs, long waitingNanos, long nowNanos) {
    try {
      answerTimes.admit(request, runs, waitingNanos, nowNanos);
    } catch (StatusException e) {
      countComing(request, nowNanos);
      throw e;
    }
  }

  private void countComing(QueuedRequest refused, long nowNanos) {
    counters.late();
    if (deadlines.lacksWeights(refused, nowNanos)) {
      whenWeightsMissed.accept(refused.request());
    }
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
    @Nullable StatusException reason = null;
    if (request.takesTurn() && deadlines.hasWaitedTooLong(request, nowNanos)) {
      reason = deadlines.waitedTooLong(request, nowNanos);
    } else if (deadlines.isTooLate(request, nowNanos)) {
      reason = deadlines.tooLate(request, nowNanos);
    }
    if (reason == null) {
      return false;
    }
    StatusException told = reason;
    counters.late();
    tell(request, () -> request.handler().failed(told));
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
