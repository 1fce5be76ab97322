package io.pipelane.switcher.schedule.turn;

import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The rule that says what goes before a run. It gives its turn at a gate to some requests. An
 * online run may also give way to online runs that wait for the memory of its weights: it then ends
 * at its next gate and begins anew.
 *
 * @param queue has the policy, and the requests
 * @param room whether a request would find a lane now; asked with no lock held
 * @param preemption whether runs give way at their gates at all
 * @param mostRestarts how often an online run ends for its memory's sake; 0 has none do so
 */
public record Precedence(
    RequestQueue queue, Predicate<QueuedRequest> room, boolean preemption, int mostRestarts) {
  /*
   * A run that begins anew has no more side effects than one that does not, but what it had
   * computed is lost. So the policy is asked whether that is worth it, and a run ends so a few
   * times at most. It begins anew before all that wait in the queue. For its weights it stands
   * behind those alone that stood there before it: so it is put off a few times, each time for
   * those.
   *
   * Several requests that run as one fall apart where their run ends, and each would run alone:
   * such runs do not end.
   */

  /** Whether the policy puts a request before a run for which there is a lane; under no lock. */
  boolean hasRival(RunProgress run, long remainingNanos) {
    if (!preemption || run.request().isLeaving()) {
      return false;
    }
    @Nullable QueuedRequest rival = queue.beforeRuns().first(run.request(), remainingNanos);
    return rival != null && room.test(rival);
  }

  /**
   * Whether a run gives its turn up for another one, which has what it needs but a turn; under the
   * turns' lock.
   *
   * @param waitingNanos what the other one still needs
   */
  boolean givesTurnUp(
      RunProgress run, long remainingNanos, RunProgress waiting, long waitingNanos) {
    return preemption
        && !run.request().isLeaving()
        && queue
            .beforeRuns()
            .goesBeforeRun(waiting.request(), waitingNanos, run.request(), remainingNanos);
  }

  /**
   * Whether an online run makes way to another one; under the turns' lock.
   *
   * @param nowNanos until which the run has computed
   */
  boolean goesBefore(RunProgress first, RunProgress run, long nowNanos) {
    return preemption
        && run.request().endings() < mostRestarts
        && !run.request().isBatch()
        && queue
            .beforeRuns()
            .makesWay(
                run.request(),
                run.remainingNanos(nowNanos),
                run.hadNanos(nowNanos),
                first.request());
  }
}
