package io.pipelane.switcher.schedule;

/**
 * Says which online runs make way to which others that wait for the weights' memory they hold: they
 * end at their next gates, and begin anew. Guarded by the turns' lock.
 */
final class MakingWay {
  /*
   * A run that begins anew has side effects no more than one that does not, but what it had computed
   * is lost: so the policy is asked whether that is worth it, and a run ends so a few times at most.
   * It begins anew before all that wait in the queue, and stands for its weights behind those alone
   * that stood there before it: so it is put off a few times, each time for those.
   *
   * Several that run as one fall apart where they end, and each would run alone: they do not end.
   */
  private final RequestQueue queue;
  private final boolean preemption;
  private final int mostEndings;

  /**
   * A rule for the runs of a queue.
   *
   * @param preemption whether online runs give way at their gates at all
   * @param mostEndings how often one makes way; 0 has none do so
   */
  MakingWay(RequestQueue queue, boolean preemption, int mostEndings) {
    this.queue = queue;
    this.preemption = preemption;
    this.mostEndings = mostEndings;
  }

  /**
   * Whether an online run makes way to another one.
   *
   * @param nowNanos until which the run has computed
   */
  boolean goesBefore(RunProgress first, RunProgress run, long nowNanos) {
    return preemption
        && run.request().endings() < mostEndings
        && !run.request().isBatch()
        && queue.makesWay(
            run.request(), run.remainingNanos(nowNanos), run.hadNanos(nowNanos), first.request());
  }
}
