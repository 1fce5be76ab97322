package io.pipelane.switcher.schedule.run;

import io.pipelane.lanes.execution.LaneLease;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.InferenceTimings;
import io.pipelane.switcher.ResultHandler;
import io.pipelane.switcher.memory.Lease;
import io.pipelane.switcher.memory.MemoryDaemon;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.estimate.PastRuns;
import io.pipelane.switcher.schedule.estimate.RunKey;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.sharing.gate.OfflineGate;
import io.pipelane.switcher.worker.Worker;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs of requests at once, on the thread that brings them, when that takes less time than to hand
 * them to a lane's thread and back. Safe for any platform thread.
 */
final class ShortRuns {
  /*
   * The thread may be an event loop, so a run waits for nothing. When something is not there now
   * (weights, a lane, a session, more room in the lane) the request is left to the queue. So it is
   * when something waits there that would be passed, and when somebody has the daemon's or the
   * lanes' lock: memory is mapped under these, which takes milliseconds. Where they are had at the
   * run's end, a thread of its own gives back what it had. How long a run takes depends on the shapes
   * that it was measured for. Graphs that repeat parts of themselves are left to the queue
   * (Worker.runsAtOnce). Elsewhere a lane that may not grow bounds what values can ask for.
   *
   * A handler may submit the next request when it is told the end of one, and does so within a run.
   * `running` sends that request to the queue, or the stack would grow without end.
   */
  private static final long LOOK_AGAIN_NANOS = 100_000;

  private final long longestNanos;
  private final RequestQueue queue;
  private final Estimates estimates;
  private final MemoryDaemon daemon;
  private final Lanes lanes;
  private final Worker worker;
  private final OfflineGate gate;
  private final LongSupplier nanoClock;
  private final ThreadLocal<Boolean> running = ThreadLocal.withInitial(() -> false);
  private final AtomicInteger underWay = new AtomicInteger();
  private final LongAdder count = new LongAdder();
  private volatile boolean closed;

  /**
   * Runs nothing yet.
   *
   * @param longestNanos what a run may usually take; none is run at once where it is 0
   */
  ShortRuns(long longestNanos, RunParts parts) {
    this.longestNanos = longestNanos;
    this.queue = parts.queue();
    this.estimates = parts.estimates();
    this.daemon = parts.daemon();
    this.lanes = parts.memory().lanes();
    this.worker = parts.worker();
    this.gate = parts.gate();
    this.nanoClock = parts.nanoClock();
  }

  /**
   * Runs a request now, if it is short and nothing is in its way.
   *
   * @param nowNanos by the clock
   * @return whether the handler has been told the end; if not, nothing has happened
   */
  public boolean run(InferenceRequest request, ResultHandler handler, long nowNanos) {
    if (longestNanos == 0
        || request.priority() != Priority.ONLINE
        || !queue.isClearFor(request)
        || running.get()) {
      return false;
    }
    PastRuns past = estimates.history().of(RunKey.of(request));
    long expected = past.knownNanos();
    if (expected == 0 || expected >= longestNanos || !worker.runsAtOnce(request.model())) {
      return false;
    }
    underWay.incrementAndGet();
    running.set(true);
    try {
      return !closed && runWithoutWaiting(request, past, expected, handler, nowNanos);
    } finally {
      running.set(false);
      underWay.decrementAndGet();
    }
  }

  private boolean runWithoutWaiting(
      InferenceRequest request, PastRuns past, long expected, ResultHandler handler, long begin) {
    if (request.isLate(begin + expected)) {
      return false;
    }
    try (@Nullable Lease lease = daemon.tryAcquire(request.model(), begin, this::beside)) {
      if (lease == null) {
        return false;
      }
      boolean exactly = request.sequence().isPresent();
      try (@Nullable LaneLease lane = lanes.enterAtOnce(past.peakBytes(), exactly, this::beside)) {
        return lane != null && runInLane(request, past, expected, lease, lane, handler, begin);
      }
    }
  }

  /** Does what has to wait for a lock; the run is not over before. */
  private void beside(Runnable task) {
    underWay.incrementAndGet();
    Thread.ofVirtual()
        .name("short-run-end")
        .start(
            () -> {
              try {
                task.run();
              } finally {
                underWay.decrementAndGet();
              }
            });
  }

  private boolean runInLane(
      InferenceRequest request,
      PastRuns past,
      long expected,
      Lease lease,
      LaneLease lane,
      ResultHandler handler,
      long begin) {
    Answer answer = new Answer(request.model(), gate.online().begin(handler));
    long mark = gate.runs().mark();
    Supplier<InferenceTimings> timings =
        () ->
            new InferenceTimings(
                0, lease.stallNanos(), nanoClock.getAsLong() - begin, lease.segmentNanos());
    try {
      if (!worker.runIfReady(request, lease, lane, handler, answer.toCaller(timings))) {
        gate.online().end();
        return false;
      }
      long nanos = nanoClock.getAsLong() - begin;
      estimates.ran(past, expected, 0, nanos, lease.stallNanos());
      gate.runTime().ran(nanos - lease.stallNanos());
      if (lease.stallNanos() == 0) {
        gate.cost().ran(request.model(), past, nanos, gate.runs().ranSince(mark));
      }
      count.increment();
      answer.complete(timings.get());
    } catch (OutOfDeviceMemoryException e) {
      gate.online().end();
      return false;
    } catch (Throwable e) {
      answer.fail(e);
    }
    return true;
  }

  /** Runs that were made at once, since the start; for any thread. */
  public long count() {
    return count.sum();
  }

  /**
   * Runs nothing any more.
   *
   * @return whether the runs under way have ended in time
   */
  public boolean close(Duration timeout) {
    closed = true;
    long deadline = nanoClock.getAsLong() + timeout.toNanos();
    while (underWay.get() > 0 && nanoClock.getAsLong() < deadline) {
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
    return underWay.get() == 0;
  }
}
