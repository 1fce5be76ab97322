package io.pipelane.server.catalog;

import io.pipelane.config.StatusException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The threads of a catalogue's work. Imports of the first scan run on a few threads of their own.
 * Loads, unloads and deletions have a thread each, so that none of them waits behind other models'
 * imports. Safe for any thread.
 */
final class CatalogThreads {
  private static final Duration LONGEST_STOP = Duration.ofMinutes(1);
  private static final Duration NOTES = Duration.ofMinutes(1);

  private final ExecutorService imports;
  private final ExecutorService operations;
  private final ScheduledExecutorService notes =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().name("catalog-notes").daemon().factory());
  private volatile boolean stopping;

  /**
   * @param concurrency imports at a time after the scan
   */
  CatalogThreads(int concurrency) {
    // Sessions are built on these threads, and ONNX Runtime belongs on platform threads.
    ThreadFactory importThreads = Thread.ofPlatform().name("import-", 0).daemon().factory();
    this.imports = Executors.newFixedThreadPool(concurrency, importThreads);
    this.operations =
        Executors.newThreadPerTaskExecutor(
            Thread.ofPlatform().name("catalog-", 0).daemon().factory());
  }

  /** Has an import done after those that wait; one that does not begin, as all stops, completes. */
  CompletableFuture<Void> runImport(Runnable work) {
    try {
      return CompletableFuture.runAsync(work, imports);
    } catch (RejectedExecutionException e) {
      return CompletableFuture.completedFuture(null);
    }
  }

  /**
   * Has a load, an unload or a deletion done.
   *
   * @return fails with a {@link StatusException} when nothing is begun any more
   */
  CompletableFuture<Void> operate(Runnable operation) {
    try {
      return CompletableFuture.runAsync(operation, operations);
    } catch (RejectedExecutionException e) {
      return CompletableFuture.failedFuture(StatusException.shuttingDown());
    }
  }

  /** The same with an answer. */
  <T> CompletableFuture<T> ask(Supplier<T> question) {
    try {
      return CompletableFuture.supplyAsync(question, operations);
    } catch (RejectedExecutionException e) {
      return CompletableFuture.failedFuture(StatusException.shuttingDown());
    }
  }

  /** Has something short done once a minute until the stop. */
  void nowAndThen(Runnable work) {
    ScheduledFuture<?> _ =
        notes.scheduleWithFixedDelay(work, NOTES.toSeconds(), NOTES.toSeconds(), TimeUnit.SECONDS);
  }

  boolean isStopping() {
    return stopping;
  }

  /** Begins no more work, and interrupts what runs; returns at once. */
  void stop() {
    stopping = true;
    notes.shutdownNow();
    operations.shutdownNow();
    imports.shutdownNow().forEach(Runnable::run); // They see that it is over, and complete.
  }

  /**
   * Waits until nothing runs any more, there and in builds that have been stopped.
   *
   * @throws IllegalStateException when that takes too long
   */
  void await(SessionBuilds builds) {
    long deadline = System.nanoTime() + LONGEST_STOP.toNanos();
    boolean ended;
    try {
      ended =
          imports.awaitTermination(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)
              && operations.awaitTermination(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)
              && builds.await(Duration.ofNanos(deadline - System.nanoTime()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      ended = false;
    }
    if (!ended) {
      throw new IllegalStateException("imports are still under way");
    }
  }
}
