package io.pipelane.bench.local;

import io.pipelane.bench.measure.Run;
import io.pipelane.lanes.completion.ThreadEnd;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** Offline work: callers that ask again as soon as they are answered, until it is closed. */
public final class OfflineLoad implements AutoCloseable {
  private static final long TICK_NANOS = 200_000;
  private static final long PATIENCE_NANOS = 60_000_000_000L;

  private final LongAdder runs = new LongAdder();
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean closed;
  private volatile @Nullable Exception failure;

  /**
   * Begins with so many callers.
   *
   * @param caller gives the one of a number, from 0
   */
  public OfflineLoad(int callers, IntFunction<? extends Run> caller) {
    for (int i = 0; i < callers; i++) {
      Run run = caller.apply(i);
      threads.add(Thread.ofPlatform().name("offline-" + i).daemon().start(() -> repeat(run)));
    }
  }

  private void repeat(Run run) {
    try {
      while (!closed) {
        run.run();
        runs.increment();
      }
    } catch (Exception e) {
      failure = e;
    }
  }

  /** Runs that have ended. */
  public long runs() {
    return runs.sum();
  }

  /**
   * Waits until so many runs have ended.
   *
   * @throws IllegalStateException when one failed, or none ended for a minute
   */
  public void awaitRuns(long count) {
    long seen = runs();
    long since = System.nanoTime();
    while (seen < count) {
      LockSupport.parkNanos(TICK_NANOS);
      long now = runs();
      since = now > seen ? System.nanoTime() : since;
      seen = now;
      if (failure != null || System.nanoTime() - since > PATIENCE_NANOS) {
        throw new IllegalStateException("offline work does not go on: " + failure, failure);
      }
    }
  }

  /**
   * Ends after the runs under way.
   *
   * @throws IllegalStateException when one failed
   */
  @Override
  public void close() {
    closed = true;
    threads.forEach(ThreadEnd::await);
    Exception failed = failure;
    if (failed != null) {
      throw new IllegalStateException("offline work failed: " + failed, failed);
    }
  }
}
