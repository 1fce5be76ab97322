package io.pipelane.server.catalog;

import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.modelstore.ModelVersion;
import java.time.Duration;
import java.util.Comparator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * The building of sessions before anybody needs them, the most popular model's first, in moments in
 * which there is nothing else to do. Safe for any thread.
 */
final class SessionBuilds {
  /*
   * The threads have ordinary priority, as a request may come to need what one of them builds and
   * then waits for it. They give way by not beginning: each looks for an idle moment before each
   * session. A server that is never idle builds one after each limit all the same.
   */
  private static final long LOOK_AGAIN_NANOS = 10_000_000;
  static final Duration LONGEST_WAIT = Duration.ofSeconds(10);
  private static final int PROCESSORS_PER_BUILD = 4;
  private static final Duration THREADS_STAY = Duration.ofSeconds(1);

  private final Consumer<ModelVersion> work;
  private final BooleanSupplier idle;
  private final LongSupplier nanoClock;
  private final LongConsumer pause;
  private final AtomicLong told = new AtomicLong();
  private final ThreadPoolExecutor threads;
  private volatile boolean stopping;

  /**
   * Has nothing to build.
   *
   * @param count sessions built at a time
   * @param work builds the session of a version, if that is still wanted; handles what fails
   * @param idle whether nothing else is to be done at present
   * @param pause sleeps for so many nanoseconds
   */
  SessionBuilds(
      int count,
      Consumer<ModelVersion> work,
      BooleanSupplier idle,
      LongSupplier nanoClock,
      LongConsumer pause) {
    this.work = work;
    this.idle = idle;
    this.nanoClock = nanoClock;
    this.pause = pause;
    // ONNX Runtime belongs on platform threads.
    this.threads =
        new ThreadPoolExecutor(
            count,
            count,
            THREADS_STAY.toNanos(),
            TimeUnit.NANOSECONDS,
            new PriorityBlockingQueue<>(),
            Thread.ofPlatform().daemon().name("session-builds-", 0).factory());
    threads.allowCoreThreadTimeOut(true);
  }

  /** Sessions to be built at a time on this machine: what runs is to have most of it. */
  static int atOnce() {
    int processors = Runtime.getRuntime().availableProcessors();
    return Math.clamp(processors / PROCESSORS_PER_BUILD, 1, SessionFactory.MOST_BUILT_AHEAD);
  }

  /** One of the sessions to be built; the most popular first, of those alike the first told. */
  private final class Build implements Runnable, Comparable<Build> {
    private static final Comparator<Build> ORDER =
        Comparator.<Build>comparingDouble(build -> -build.popularity)
            .thenComparingLong(build -> build.number);

    final CompletableFuture<Void> done = new CompletableFuture<>();
    private final ModelVersion version;
    private final double popularity;
    private final long number = told.getAndIncrement();

    Build(ModelVersion version, double popularity) {
      this.version = version;
      this.popularity = popularity;
    }

    @Override
    public int compareTo(Build other) {
      return ORDER.compare(this, other);
    }

    @Override
    public void run() {
      try {
        awaitTurn();
        if (!stopping) {
          work.accept(version);
        }
      } finally {
        boolean _ = done.complete(null);
      }
    }
  }

  /**
   * Has a version's session be built in time.
   *
   * @param popularity larger for what is asked for more often
   * @return completes when it is built, or is not going to be
   */
  CompletableFuture<Void> add(ModelVersion version, double popularity) {
    Build build = new Build(version, popularity);
    try {
      threads.execute(build);
    } catch (RejectedExecutionException e) {
      boolean _ = build.done.complete(null); // It has been stopped.
    }
    return build.done;
  }

  private void awaitTurn() {
    long begin = nanoClock.getAsLong();
    while (!stopping
        && !idle.getAsBoolean()
        && nanoClock.getAsLong() - begin < LONGEST_WAIT.toNanos()) {
      pause.accept(LOOK_AGAIN_NANOS);
    }
  }

  /** Begins nothing more; returns at once. */
  void stop() {
    stopping = true;
    threads.shutdownNow().forEach(Runnable::run); // They see that it is over, and complete.
  }

  /** Waits until nothing is built any more; false when that takes too long. */
  boolean await(Duration atMost) throws InterruptedException {
    return threads.awaitTermination(atMost.toNanos(), TimeUnit.NANOSECONDS);
  }
}
