package io.pipelane.switcher.schedule;

import io.pipelane.config.StatusException;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.memory.Lease;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Runs requests whose weights somebody holds already, on threads of their own: a lane's thread may
 * wait for memory until such a run has ended. Safe for any thread.
 */
final class HeldRuns {
  /*
   * The weights are held for several runs, on several devices, one after another (UnitParts). Such a
   * run waits for a turn, a lane and a session, whose holders wait for no weights; so it gets done
   * whatever all the lanes' threads wait for.
   */
  private final LaneThreads lanes;
  private final ExecutorService threads;

  /**
   * Runs nothing yet.
   *
   * @param count of threads, which are started when there is something to run
   */
  HeldRuns(LaneThreads lanes, int count) {
    this.lanes = lanes;
    this.threads =
        Executors.newFixedThreadPool(
            count, Thread.ofPlatform().name("held-run-", 0).daemon().factory());
  }

  /**
   * Runs a request once there is a turn; returns at once.
   *
   * @param held the weights of the request's model, until the handler is told the end at least
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} when the service stops;
   *     the handler is not called then
   */
  void submit(InferenceRequest request, ResultHandler handler, Lease held) {
    try {
      threads.execute(() -> lanes.run(request, handler, held));
    } catch (RejectedExecutionException e) {
      throw StatusException.unavailable("the server is stopping", Duration.ofSeconds(1));
    }
  }

  /** Takes no more, and waits for all runs; false when they have not ended in time. */
  boolean join(Duration timeout) {
    threads.shutdown();
    try {
      return threads.awaitTermination(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
