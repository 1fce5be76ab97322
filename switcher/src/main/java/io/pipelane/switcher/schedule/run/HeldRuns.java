package io.pipelane.switcher.schedule.run;

import io.pipelane.config.StatusException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Runs of requests whose weights somebody holds already, on threads of their own: a lane's thread
 * may wait for memory until such a run has ended. Safe for any thread.
 */
final class HeldRuns {
  /*
   * The weights are held for several runs, on several devices, one after another (UnitParts). Such
   * a run waits for a turn, a lane and a session, and the holders of these wait for no weights. So
   * it gets done whatever all the lanes' threads wait for.
   *
   * A run whose worker process has been killed and does not end keeps its thread, nobody knows how
   * long. Where all threads are kept so, what waits for one is refused, and so is what comes. Under
   * the lock either the last thread finds a run that waits, or the run finds that all threads are
   * kept.
   */
  private final int count;
  private final BlockingQueue<Runnable> waiting = new LinkedBlockingQueue<>();
  private final ThreadPoolExecutor threads;
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by the lock.
  private int stuck;
  private @Nullable StatusException standstill;

  /**
   * Runs nothing yet.
   *
   * @param count of threads, which are started when there is something to run
   */
  HeldRuns(int count) {
    this.count = count;
    this.threads =
        new ThreadPoolExecutor(
            count,
            count,
            0,
            TimeUnit.NANOSECONDS,
            waiting,
            Thread.ofPlatform().name("held-run-", 0).daemon().factory());
  }

  /**
   * Makes a run on a thread; returns at once.
   *
   * @param answer told why, where the run throws anything
   * @throws StatusException {@link io.pipelane.config.Status#UNAVAILABLE} when the service stops,
   *     or all threads are kept by processes that do not end; nothing is told then
   */
  void submit(Answer answer, Runnable run) {
    lock.lock();
    try {
      if (standstill != null) {
        throw refusal(standstill);
      }
      threads.execute(new Run(answer.whenStuck(this::becameStuck), run));
    } catch (RejectedExecutionException e) {
      throw StatusException.unavailable("the server is stopping");
    } finally {
      lock.unlock();
    }
  }

  /** One run, whose thread lives on whatever happens. */
  private final class Run implements Runnable {
    private final Answer answer;
    private final Runnable run;

    Run(Answer answer, Runnable run) {
      this.answer = answer;
      this.run = run;
    }

    @Override
    public void run() {
      try {
        run.run();
      } catch (Throwable e) { // As in a lane: memory may be short for the run's own objects.
        answer.fail(e);
      }
      if (answer.wasStuck()) {
        goesOn();
      }
    }
  }

  /** The calling thread's run is, until {@link #goesOn}; its caller has been told why. */
  private void becameStuck(StatusException reason) {
    List<Runnable> refused = new ArrayList<>();
    lock.lock();
    try {
      if (++stuck == count) {
        standstill = reason;
        waiting.drainTo(refused);
      }
    } finally {
      lock.unlock();
    }
    for (Runnable one : refused) {
      if (one instanceof Run run) {
        run.answer.fail(refusal(reason));
      }
    }
  }

  private void goesOn() {
    lock.lock();
    try {
      stuck--;
      standstill = null;
    } finally {
      lock.unlock();
    }
  }

  private static StatusException refusal(StatusException reason) {
    return StatusException.unavailable("no thread is left for it: " + reason.getMessage());
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
