package io.pipelane.switcher.schedule.run;

import io.pipelane.config.StatusException;
import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.schedule.turn.Preemptions;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * All that runs requests of a device: the lanes' threads, the thread of the share of
 * multiprocessors where there is one, and the threads that bring requests, for short runs. Safe for
 * any platform thread.
 */
public final class Execution {
  private final LaneThreads lanes;
  private final Optional<ShareThread> share;
  private final ShortRuns shortRuns;
  private final HeldRuns heldRuns;

  /**
   * Starts the threads.
   *
   * @param atOnce runs that compute at once at most; further threads are spare, for when runs give
   *     way
   * @param threads of the lanes
   */
  public Execution(int atOnce, int threads, SchedulingConfig config, RunParts parts) {
    int least = config.leastLanes();
    LaneTrial trial =
        least == 0
            ? LaneTrial.fixed(atOnce)
            : new LaneTrial(least, atOnce, parts.nanoClock().getAsLong());
    lanes = new LaneThreads(trial, threads - atOnce, config, parts);
    heldRuns = new HeldRuns(atOnce);
    share =
        parts.memory().shareLanes().isEmpty()
            ? Optional.empty()
            : Optional.of(new ShareThread(parts));
    shortRuns = new ShortRuns(TimeUnit.MICROSECONDS.toNanos(config.shortRunMicros()), parts);
  }

  /** Runs a request on the calling thread, if it is short; see {@link ShortRuns#run}. */
  public boolean runAtOnce(InferenceRequest request, ResultHandler handler, long nowNanos) {
    return shortRuns.run(request, handler, nowNanos);
  }

  /**
   * Runs a request past the queue, once there is a turn; returns at once.
   *
   * @param held the weights of the request's model, until the handler is told the end at least
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} when the service stops
   */
  public void runHeld(InferenceRequest request, ResultHandler handler, Lease held) {
    Answer answer = new Answer(request.model(), handler);
    heldRuns.submit(answer, () -> lanes.run(request, handler, answer, held));
  }

  /** A request has come to the queue: a run that computes elsewhere may have to give way to it. */
  public void requestCame() {
    lanes.requestCame();
  }

  /** A model leaves, as the queue has been told: nobody waits long for its offline runs. */
  public void modelLeaves() {
    lanes.modelLeaves();
    share.ifPresent(ShareThread::modelLeaves);
  }

  /** Whether no request is run for now, as worker processes that do not end hold all lanes. */
  public boolean standsStill() {
    return lanes.standStill();
  }

  /** Forgets what a model's runs were like: it is registered no longer. */
  public void forget(ModelVersion version) {
    lanes.forget(version);
    share.ifPresent(thread -> thread.forget(version));
  }

  /** What has been interrupted so far. */
  public Preemptions preemptions() {
    return lanes.preemptions();
  }

  /** Runs that may compute at once at present. */
  public int lanes() {
    return lanes.lanes();
  }

  /** Runs that were made by the threads that brought the requests. */
  public long shortRuns() {
    return shortRuns.count();
  }

  /**
   * Waits for all runs, once the queue is closed and the gate open for good.
   *
   * @param timeout for each of the four ways to run
   * @return false when the time was over before, or the waiting thread was interrupted
   */
  public boolean join(Duration timeout) {
    return shortRuns.close(timeout)
        && heldRuns.join(timeout)
        && share.map(thread -> thread.join(timeout)).orElse(true)
        && lanes.join(timeout);
  }
}
