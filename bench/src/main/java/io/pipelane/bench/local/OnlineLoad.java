package io.pipelane.bench.local;

import io.pipelane.bench.local.OpenCaller.End;
import io.pipelane.bench.measure.Samples;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Online requests that leave at their times, whether earlier ones have been answered or not. */
public final class OnlineLoad {
  private final OpenCaller caller;
  private final List<Long> arrivals;

  /**
   * Nothing is sent yet.
   *
   * @param arrivals nanoseconds from the beginning, ascending
   */
  public OnlineLoad(OpenCaller caller, List<Long> arrivals) {
    this.caller = caller;
    this.arrivals = arrivals;
  }

  /**
   * The outcome of the requests.
   *
   * @param arrivals when each request was meant to leave, in nanoseconds, ascending
   * @param millis by request, from when it was meant to leave; NaN of those that failed
   * @param nanos from the beginning to the last answer
   */
  public record Outcome(List<Long> arrivals, List<Double> millis, long nanos) {
    /** Of the requests that were answered. */
    public Samples latencies() {
      Samples latencies = new Samples();
      millis.stream().filter(value -> !value.isNaN()).forEach(latencies::add);
      return latencies;
    }

    /** How many were not. */
    public int failed() {
      return (int) millis.stream().filter(value -> value.isNaN()).count();
    }

    /** The share of the time in which no request was in flight, from leaving to its answer. */
    public double shareWithoutRequests() {
      double busy = 0;
      double until = 0;
      for (int i = 0; i < arrivals.size(); i++) {
        double begin = arrivals.get(i);
        double end = begin + millis.get(i) * 1e6;
        if (end > until) { // Not of those that failed.
          busy += end - Math.max(begin, until);
          until = end;
        }
      }
      return nanos == 0 ? 1 : 1 - busy / nanos;
    }
  }

  /** Sends all and waits for their ends. */
  public Outcome run() throws InterruptedException {
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
    return new Outcome(arrivals, Arrays.stream(millis).boxed().toList(), took);
  }
}
