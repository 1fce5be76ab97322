package io.pipelane.bench.local;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Sends requests at their times, whether earlier ones have been answered or not. */
public final class OpenLoad {
  private final List<OpenCaller> callers;
  private final double[] millis;
  private final CountDownLatch ended;
  private final List<Arrival> arrivals;
  private final AtomicReference<@Nullable StatusException> failure = new AtomicReference<>();

  /**
   * A request.
   *
   * @param nanos when it leaves, from the beginning
   * @param caller whose it is
   */
  public record Arrival(long nanos, int caller) {}

  /** A load that has not begun. */
  public OpenLoad(List<OpenCaller> callers, List<Arrival> arrivals) {
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
  public double[] run() throws InterruptedException {
    return run(OptionalLong.empty());
  }

  /**
   * Sends all and waits for their ends.
   *
   * @param objectiveNanos from the time at which a request was meant to leave to the one by which
   *     its answer is due; it is refused when it cannot be there by then
   * @return as {@link #run()}
   */
  public double[] run(OptionalLong objectiveNanos) throws InterruptedException {
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
      OptionalLong deadline =
          objectiveNanos.isPresent()
              ? OptionalLong.of(due + objectiveNanos.getAsLong())
              : OptionalLong.empty();
      callers.get(arrival.caller()).ask(deadline, error -> note(request, due, error));
    }
    ended.await();
    return millis;
  }

  /**
   * Checks that no request has failed for another reason than that the server had no room or no
   * time for it.
   *
   * @throws IllegalStateException with the first that did
   */
  public void requireOnlyRefusals() {
    StatusException failed = failure.get();
    if (failed != null) {
      throw new IllegalStateException("a request failed", failed);
    }
  }

  /** Each place is written once, by whoever ends the request. */
  private void note(int request, long due, Optional<StatusException> error) {
    millis[request] = error.isPresent() ? Double.NaN : (System.nanoTime() - due) / 1e6;
    error
        .filter(e -> e.status() != Status.UNAVAILABLE && e.status() != Status.DEADLINE_EXCEEDED)
        .ifPresent(e -> failure.compareAndSet(null, e));
    ended.countDown();
  }
}
