package io.pipelane.switcher.schedule;

import io.pipelane.config.StatusException;
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
  private final ExecutorService threads;

  /**
   * Runs nothing yet.
   *
   * @param count of threads, which are started when there is something to run
   */
  HeldRuns(int count) {
    this.threads =
        Executors.newFixedThreadPool(
            count, Thread.ofPlatform().name("held-run-", 0).daemon().factory());
  }

  /**
   * Makes a run on a thread; returns at once.
   *
   * @param answer told why, where the run throws anything
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} when the service stops;
   *     nothing is told then
   */
  void submit(Answer answer, Runnable run) {
    try {
      threads.execute(() -> make(answer, run));
    } catch (RejectedExecutionException e) {
      throw StatusException.unavailable("the server is stopping", Duration.ofSeconds(1));
    }
  }

  private static void make(Answer answer, Runnable run) {
    try {
      run.run();
    } catch (Throwable e) { // As in a lane: memory may be short for the run's own objects.
      answer.fail(e);
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
