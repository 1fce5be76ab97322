package io.pipelane.switcher.schedule.run;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.completion.ThreadEnd;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.memory.MemoryDaemon;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The thread that has weights brought in ahead of runs: tells the memory daemon what waits in the
 * queue, page by page, off every request's path.
 */
public final class FetchAheadThread implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(FetchAheadThread.class.getName());

  /** Beyond this many requests too much may happen. */
  private static final int LOOK_AHEAD = 4;

  /** Those beyond that many come again. */
  private static final int MOST_MISSED = 256;

  /** Rates change without anybody saying so. */
  private static final long IDLE_NANOS = Duration.ofSeconds(1).toNanos();

  private final MemoryDaemon daemon;
  private final IntFunction<List<ModelVersion>> upcoming;
  private final Thread thread;
  private final Queue<Missed> missed = new ArrayBlockingQueue<>(MOST_MISSED);
  private volatile boolean closed;

  private record Missed(ModelVersion model, Priority priority) {}

  /**
   * Starts.
   *
   * @param upcoming models of the first so many requests that wait, in the order of their runs
   */
  public FetchAheadThread(MemoryDaemon daemon, IntFunction<List<ModelVersion>> upcoming) {
    this.daemon = daemon;
    this.upcoming = upcoming;
    this.thread = Thread.ofPlatform().name("fetch-ahead").daemon().unstarted(this::work);
    daemon.idleLink().onFree(this::wake);
    thread.start();
  }

  /** Says that a request has come that has to wait, or that the link is free; for any thread. */
  public void wake() {
    LockSupport.unpark(thread);
  }

  /** Says that a request waits for a run of a model; for any thread. */
  public void wakeFor(ModelVersion model) {
    if (daemon.appraisal().stallNanos(model) > 0) {
      wake();
    }
  }

  /**
   * Says that a request was refused because a model's weights cannot come in time; for any thread,
   * and at once. They come now, so that others find them.
   */
  public void missed(InferenceRequest request) {
    if (missed.offer(new Missed(request.model(), request.priority()))) {
      wake();
    }
  }

  private void work() {
    while (!closed) {
      try {
        wishForMissed();
        boolean underWay = daemon.idleLink().fetchAhead(upcoming.apply(LOOK_AHEAD));
        LockSupport.parkNanos(this, underWay ? Long.MAX_VALUE : pauseNanos());
      } catch (RuntimeException e) { // Requests bring in what they need, and say what is wrong.
        LOG.log(Level.WARNING, "fetching weights ahead failed", e);
        LockSupport.parkNanos(this, IDLE_NANOS);
      }
    }
  }

  private long pauseNanos() {
    long rest = daemon.idleLink().restNanos();
    return rest > 0 ? Math.min(rest, IDLE_NANOS) : IDLE_NANOS;
  }

  private void wishForMissed() {
    for (@Nullable Missed one = missed.poll(); one != null; one = missed.poll()) {
      try {
        daemon.idleLink().wish(one.model, Optional.empty(), one.priority);
      } catch (StatusException e) {
        LOG.log(Level.DEBUG, one.model + " was missed, and is gone", e);
      }
    }
  }

  /** Fetches nothing more; what is under way still comes. */
  @Override
  public void close() {
    closed = true;
    wake();
    ThreadEnd.await(thread);
  }
}
