package io.pipelane.bench.policies;

import io.pipelane.bench.local.OpenCaller;
import io.pipelane.bench.policies.PolicyMix.Arrival;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Sends requests at their times, whether earlier ones have been answered or not. */
final class OpenLoad {
  private final List<OpenCaller> callers;
  private final double[] millis;
  private final CountDownLatch ended;
  private final List<Arrival> arrivals;

  /**
   * A load that has not begun.
   *
   * @param callers by part of the mix
   */
  OpenLoad(List<OpenCaller> callers, List<Arrival> arrivals) {
    this.callers = callers;
    this.arrivals = arrivals;
    this.millis = new double[arrivals.size()];
    this.ended = new CountDownLatch(arrivals.size());
  }

  /**
   * Sends all and waits for their ends.
   *
   * @return by request, milliseconds from the time at which it was meant to leave to its answer;
   *     NaN for one that was refused or failed
   */
  double[] run() throws InterruptedException {
    long begin = System.nanoTime();
    for (int i = 0; i < arrivals.size(); i++) {
      Arrival arrival = arrivals.get(i);
      long due = begin + arrival.nanos();
      long early = due - System.nanoTime();
      while (early > 0) {
        LockSupport.parkNanos(early);
        early = due - System.nanoTime();
      }
      int request = i;
      callers
          .get(arrival.part())
          .ask(answered -> note(request, answered ? (System.nanoTime() - due) / 1e6 : Double.NaN));
    }
    ended.await();
    return millis;
  }

  /** Each place is written once, by whoever ends the request. */
  private void note(int request, double value) {
    millis[request] = value;
    ended.countDown();
  }
}
