package io.pipelane.bench.sharing;

import io.pipelane.bench.measure.Run;
import io.pipelane.lanes.completion.ThreadEnd;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Offline work: callers that ask again as soon as they are answered, until it is closed. */
final class OfflineLoad implements AutoCloseable {
  private final LongAdder runs = new LongAdder();
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean closed;
  private volatile @Nullable Exception failure;

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
      failure = e;
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
  public void close() {
    closed = true;
    threads.forEach(ThreadEnd::await);
    Exception failed = failure;
    if (failed != null) {
      throw new IllegalStateException("offline work failed", failed);
    }
  }
}
