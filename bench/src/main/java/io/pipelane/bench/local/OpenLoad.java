package io.pipelane.bench.local;

import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.simulator.TracedUse;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Sends requests at their times, whether earlier ones have been answered or not. */
public final class OpenLoad {
  private final List<OpenCaller> callers;
  private final List<TracedUse> requests;
  private final double[] latencyMillis;
  private final double[] stallMillis;
  private final CountDownLatch ended;

  /**
   * A load that has not begun.
   *
   * @param callers by model
   * @param requests in the order of their times
   */
  public OpenLoad(List<OpenCaller> callers, List<TracedUse> requests) {
    this.callers = callers;
    this.requests = requests;
    this.latencyMillis = new double[requests.size()];
    this.stallMillis = new double[requests.size()];
    this.ended = new CountDownLatch(requests.size());
  }

  /**
   * What became of requests, in their order; NaN for one that was refused or failed.
   *
   * @param latencyMillis from the time at which it was meant to leave to its answer
   * @param stallMillis what its run waited for weights
   */
  @SuppressWarnings("ArrayRecordComponent")
  public record Answered(double[] latencyMillis, double[] stallMillis) {
    /** How many were refused or failed. */
    public int failed() {
      return (int) Arrays.stream(latencyMillis).filter(Double::isNaN).count();
    }
  }

  /** Sends all and waits for their ends; once. */
  public Answered run() throws InterruptedException {
    long begin = System.nanoTime();
    for (int i = 0; i < requests.size(); i++) {
      TracedUse request = requests.get(i);
      long due = begin + request.nanos();
      long early = due - System.nanoTime();
      while (early > 0) {
        LockSupport.parkNanos(early);
        early = due - System.nanoTime();
      }
      int place = i;
      callers.get(request.model()).ask(answer -> note(place, due, answer));
    }
    ended.await();
    return new Answered(latencyMillis, stallMillis);
  }

  /** Each place is written once, by whoever ends the request. */
  private void note(int request, long due, Optional<InferenceTimings> answer) {
    latencyMillis[request] = answer.isPresent() ? (System.nanoTime() - due) / 1e6 : Double.NaN;
    stallMillis[request] = answer.map(timed -> timed.stallNanos() / 1e6).orElse(Double.NaN);
    ended.countDown();
  }
}
