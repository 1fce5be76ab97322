package io.pipelane.bench.sharing;

import io.pipelane.bench.local.OpenCaller;
import io.pipelane.bench.local.OpenCaller.End;
import io.pipelane.bench.measure.Samples;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Online requests that leave at their times, whether earlier ones have been answered or not. */
final class OnlineLoad {
  private final OpenCaller caller;
  private final List<Long> arrivals;

  OnlineLoad(OpenCaller caller, List<Long> arrivals) {
    this.caller = caller;
    this.arrivals = arrivals;
  }

  /**
   * What became of the requests.
   *
   * @param latencies of those that were answered, from when they were meant to leave
   * @param failed the others
   * @param nanos from the first to the last answer
   */
  record Outcome(Samples latencies, int failed, long nanos) {}

  /** Sends all and waits for their ends. */
  Outcome run() throws InterruptedException {
    double[] millis = new double[arrivals.size()]; // Each place is written by whoever ends it.
    CountDownLatch ended = new CountDownLatch(arrivals.size());
    long begin = System.nanoTime();
    for (int i = 0; i < arrivals.size(); i++) {
      long due = begin + arrivals.get(i);
      long early = due - System.nanoTime();
      while (early > 0) {
        LockSupport.parkNanos(early);
        early = due - System.nanoTime();
      }
      int request = i;
      caller.ask(
          end -> {
            boolean isAnswered = end instanceof End.Answered;
            millis[request] = isAnswered ? (System.nanoTime() - due) / 1e6 : Double.NaN;
            ended.countDown();
          });
    }
    ended.await();
    long took = System.nanoTime() - begin;
    Samples latencies = new Samples();
    Arrays.stream(millis).filter(value -> !Double.isNaN(value)).forEach(latencies::add);
    return new Outcome(latencies, arrivals.size() - latencies.count(), took);
  }
}
