package io.pipelane.switcher.schedule.queue;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.LaneTimes;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;

/**
 * The times at which requests are answered that come now, behind what runs and what their policy
 * puts before them. Guarded by the queue's lock, but for what is asked before it is taken.
 */
final class AnswerTimes {
  /*
   * A request is refused if it cannot begin in time behind the runs that surely go before it. Each
   * of these counts by its best time, without a wait for weights, and by its part of the largest
   * batch that it may run in. The request itself may run with one of its kind that is further in
   * front. So what counts stands before the first that it could run with.
   *
   * * A request before it that would be refused at its own turn counts for nothing. Where other
   * work, which may or may not go ahead, could delay that request, it counts for nothing as soon as
   * it may be refused. What gives way is not before it either. With preemption, under a policy that
   * uses it, that is all that runs; else it is only what runs offline.
   *
   * * So with times that are right and nothing that comes later, whoever is refused would not have
   * made it. Runs may take longer than their best time, and work that comes later may go ahead.
   * Then a request in front may be refused after all that was thought to run. In the order of their
   * coming that is off by the best time of one run, at most.
   *
   * * Most requests find less in line than they have time for: then nobody walks along the line.
   */
  private static final int TIMED_IN = 16;

  /** That they are looked at for an estimate shall cost nothing that counts. */
  private static final int MOST_LOOKED_AT = 512;

  private final SchedulingPolicy policy;
  private final Estimates estimates;
  private final Deadlines deadlines;
  private final AtomicInteger submitted = new AtomicInteger();
  private final int lanes;
  private final boolean lanesMayIdle;
  private volatile LongFunction<LaneTimes> underWay;
  private volatile boolean runsGiveWay;

  /** For lanes in which nothing runs that is known of. */
  AnswerTimes(SchedulingPolicy policy, Estimates estimates, int lanes) {
    this.policy = policy;
    this.estimates = estimates;
    this.deadlines = new Deadlines(estimates);
    this.lanes = lanes;
    this.lanesMayIdle = policy.heedsEnds(); // As memory may not do for another run.
    this.underWay = _ -> LaneTimes.idle(lanes);
  }

  /**
   * Says what runs.
   *
   * @param underWay asked with the present time and no lock held, how long lanes are taken at least
   * @param preemption whether runs give way where the policy wants that
   */
  void behind(LongFunction<LaneTimes> underWay, boolean preemption) {
    this.underWay = underWay;
    this.runsGiveWay = preemption && policy.interrupts();
  }

  /** What runs; asked without the queue's lock. */
  LaneTimes underWay(long nowNanos) {
    return underWay.apply(nowNanos);
  }

  /** Whether a request's time to its answer is to be estimated, as that of some is; any thread. */
  boolean isTimed(QueuedRequest request) {
    return request.request().priority() == Priority.ONLINE
        && submitted.getAndIncrement() % TIMED_IN == 0;
  }

  /**
   * Refuses a request that cannot be answered in time behind what is before it.
   *
   * @param runs what is under way
   * @param waitingNanos what all take at least that waits
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} for one that cannot
   */
  void admit(QueuedRequest request, LaneTimes runs, long waitingNanos, long nowNanos) {
    OptionalLong deadline = request.request().deadlineNanos();
    if (deadline.isEmpty()) {
      return;
    }
    long slack = deadline.getAsLong() - nowNanos - request.leastNanos();
    long latestBegin = runs.latestBeginNanos(waitingNanos);
    if (latestBegin <= slack) {
      return;
    }
    long begin = earliestBeginNanos(request, runs, slack, nowNanos);
    if (begin > slack) {
      throw deadlines.tooLateBehind(request, nowNanos, begin, Math.max(begin, latestBegin));
    }
  }

  /** When a request's run begins if everything goes well; of no account above the slack. */
  private long earliestBeginNanos(
      QueuedRequest request, LaneTimes runs, long slackNanos, long nowNanos) {
    WorkAhead ahead = policy.ahead(request, nowNanos);
    LaneTimes best = runsGiveWay ? LaneTimes.idle(lanes) : runs.copy();
    int together = request.mostTogether();
    if (together > 1 && mayRunWithAnother(request, ahead)) {
      return best.beginNanos();
    }
    LaneTimes alone = runs.copy();
    long othersNanos = ahead.othersNanos();
    Deque<Long> joined = new ArrayDeque<>(); // When those begin that it may run with.
    long begin = best.beginNanos();
    for (QueuedRequest other : ahead.certain()) {
      if (begin > slackNanos) {
        return begin;
      }
      if (together > 1 && other.isAlike(request)) {
        joined.addLast(best.beginNanos());
        if (joined.size() == together) {
          joined.removeFirst();
        }
      }
      if (latestBeginNanos(alone, othersNanos) <= slackNanos(other, nowNanos)) {
        alone.add(other.leastNanos());
        best.add(other.leastNanos() / other.mostTogether());
      } else if (othersNanos > 0 || lanesMayIdle) {
        othersNanos += other.leastNanos();
      }
      begin = joined.isEmpty() ? best.beginNanos() : joined.getFirst();
    }
    return begin;
  }

  /** When a run begins behind some that surely go before it, and others that may. */
  private long latestBeginNanos(LaneTimes certain, long othersNanos) {
    if (lanesMayIdle) {
      return certain.sumNanos() + othersNanos;
    }
    return othersNanos == 0 ? certain.beginNanos() : certain.latestBeginNanos(othersNanos);
  }

  /** Whether requests of its model wait that are not among those before it. */
  private static boolean mayRunWithAnother(QueuedRequest request, WorkAhead ahead) {
    int before = 0;
    for (QueuedRequest other : ahead.certain()) {
      before += other.line() == request.line() ? 1 : 0;
    }
    return before < request.line().requests();
  }

  /** How long a request's run may wait to begin, if it then takes its best time. */
  private long slackNanos(QueuedRequest request, long nowNanos) {
    OptionalLong deadline = request.request().deadlineNanos();
    return deadline.isEmpty()
        ? Long.MAX_VALUE
        : deadline.getAsLong()
            - nowNanos
            - estimates.leastStallNanos(request.key())
            - request.leastNanos();
  }

  /**
   * Has an estimate of the time to a request's answer be held against what it comes to.
   *
   * @param runs what is under way
   * @param waiting how many requests are in line; behind too many nothing is estimated
   */
  void time(QueuedRequest request, LaneTimes runs, int waiting, LongSupplier nanoClock) {
    long came = request.submittedNanos();
    long expected = waiting > MOST_LOOKED_AT ? 0 : expectedNanos(request, runs, came);
    if (expected > 0) {
      request.whenAnswered(() -> estimates.answered(expected, nanoClock.getAsLong() - came));
    }
  }

  /** Its weights come in while it waits; 0 where its own run is not known. */
  private long expectedNanos(QueuedRequest request, LaneTimes runs, long nowNanos) {
    long own = estimates.executionNanos(request.key());
    if (own == 0) {
      return 0;
    }
    WorkAhead ahead = policy.ahead(request, nowNanos);
    LaneTimes expected = runs.copy();
    for (QueuedRequest other : ahead.certain()) {
      expected.add(other.usualNanos());
    }
    long others = ahead.othersNanos();
    long begin = others == 0 ? expected.beginNanos() : expected.latestBeginNanos(others);
    return Math.max(begin, estimates.stallNanos(request.key())) + own;
  }
}
