package io.pipelane.bench.local;

import io.pipelane.bench.local.OpenCaller.End;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.switcher.simulator.TracedUse;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A load of requests that leave at their times, whether earlier ones have been answered or not. */
public final class OpenLoad {
  private static final double NANOS_PER_MILLI = 1e6;

  private final List<OpenCaller> callers;
  private final List<TracedUse> requests;
  private final double[] latencyMillis;
  private final double[] stallMillis;
  private final CountDownLatch ended;
  private final AtomicReference<@Nullable StatusException> failure = new AtomicReference<>();

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
   * The outcome of requests, in their order; NaN for one that was refused or failed.
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
    return run(OptionalLong.empty());
  }

  /**
   * Sends all and waits for their ends; once.
   *
   * @param objectiveNanos from the time at which a request was meant to leave to the one by which
   *     its answer is due; it is refused when it cannot be there by then
   */
  public Answered run(OptionalLong objectiveNanos) throws InterruptedException {
    long begin = System.nanoTime();
    for (int i = 0; i < requests.size(); i++) {
      TracedUse request = requests.get(i);
      long due = begin + request.nanos();
      for (long early = due - System.nanoTime(); early > 0; early = due - System.nanoTime()) {
        LockSupport.parkNanos(early);
      }
      int place = i;
      OptionalLong deadline =
          objectiveNanos.isPresent()
              ? OptionalLong.of(due + objectiveNanos.getAsLong())
              : OptionalLong.empty();
      callers.get(request.model()).ask(deadline, end -> note(place, due, end));
    }
    ended.await();
    return new Answered(latencyMillis, stallMillis);
  }

  /**
   * Checks that no request has failed for another reason than that the server had no room or no
   * time for it.
   *
   * @throws IllegalStateException with the first that did
   */
  public void requireOnlyRefusals() {
    failure()
        .ifPresent(
            failed -> {
              throw new IllegalStateException("a request failed", failed);
            });
  }

  /** The first that failed for another reason than that there was no room or no time for it. */
  public Optional<StatusException> failure() {
    return Optional.ofNullable(failure.get());
  }

  /** Each place is written once, by whoever ends the request. */
  private void note(int request, long due, End end) {
    latencyMillis[request] = Double.NaN;
    stallMillis[request] = Double.NaN;
    switch (end) {
      case End.Answered(var timings) -> {
        latencyMillis[request] = (System.nanoTime() - due) / NANOS_PER_MILLI;
        stallMillis[request] = timings.stallNanos() / NANOS_PER_MILLI;
      }
      case End.Failed(StatusException error) -> {
        if (error.status() != Status.UNAVAILABLE && error.status() != Status.DEADLINE_EXCEEDED) {
          failure.compareAndSet(null, error);
        }
      }
    }
    ended.countDown();
  }
}
