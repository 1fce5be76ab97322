package io.pipelane.bench.sharing;

import io.pipelane.bench.measure.Run;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;

/** Offline work: callers that ask again as soon as they are answered, until it is closed. */
final class OfflineLoad implements AutoCloseable {
  private final LongAdder runs = new LongAdder();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean closed;

  /** Begins with so many callers. */
  OfflineLoad(int callers, Supplier<Run> caller) {
    for (int i = 0; i < callers; i++) {
      Run run = caller.get();
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
      failure.compareAndSet(null, e);
    }
  }

  /** Runs that have ended. */
  long runs() {
    return runs.sum();
  }

  /**
   * Ends after the runs under way.
   *
   * @throws IllegalStateException when one failed
   */
  @Override
  public void close() throws InterruptedException {
    closed = true;
    for (Thread thread : threads) {
      thread.join();
    }
    Throwable failed = failure.get();
    if (failed != null) {
      throw new IllegalStateException("offline work failed", failed);
    }
  }
}
