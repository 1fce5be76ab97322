package io.pipelane.server.catalog;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The threads of a catalogue's work. Imports that nobody has ordered by name, those of the first
 * scan and of changes found in the repository, run on a few threads of their own, in the order of
 * their {@link ImportLine}; whatever is in line for a model that another thread is busy with gives
 * its turn on, and joins the line again after that. Loads, unloads and deletions have a thread
 * each, so that none of them waits behind other models' imports. Safe for any thread.
 */
final class CatalogThreads {
  private static final Duration LONGEST_STOP = Duration.ofMinutes(1);
  private static final Duration NOTES = Duration.ofMinutes(1);

  private final CatalogModels models;
  private final ImportLine line = new ImportLine();

  /** Has as many turns at the line as there is work in it. */
  private final ExecutorService imports;

  private final ExecutorService operations;
  private final ScheduledExecutorService notes =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().name("catalog-notes").daemon().factory());
  private final int concurrency;
  private volatile boolean stopping;

  /**
   * @param concurrency imports at a time that nobody has ordered by name
   */
  CatalogThreads(CatalogModels models, int concurrency) {
    this.models = models;
    this.concurrency = concurrency;
    // Sessions are built on these threads, and ONNX Runtime belongs on platform threads.
    ThreadFactory importThreads = Thread.ofPlatform().name("import-", 0).daemon().factory();
    this.imports = Executors.newFixedThreadPool(concurrency, importThreads);
    this.operations =
        Executors.newThreadPerTaskExecutor(
            Thread.ofPlatform().name("catalog-", 0).daemon().factory());
  }

  /** Has a model follow a change of its folder; completes as well when all stops before that. */
  CompletableFuture<Void> importChange(String model, Runnable work) {
    return CompletableFuture.runAsync(
        work, task -> inLine(model, task, line::addChange, line::addChange));
  }

  /** Has brought in what the start has found, if the cache has it; the same. */
  CompletableFuture<Void> importKnown(String model, Runnable work) {
    return CompletableFuture.runAsync(
        work, task -> inLine(model, task, line::addKnown, line::addKnown));
  }

  /** Has a version's first import done, which is not in line; the same. */
  CompletableFuture<Void> importNew(ModelVersion version, Runnable work) {
    return CompletableFuture.runAsync(
        work,
        task ->
            inLine(
                version.model(),
                task,
                turn -> line.addNew(version, turn),
                turn -> line.addBack(version, turn)));
  }

  /** Somebody waits for a version, whose first import goes before those of others. */
  void ask(ModelVersion version, Priority by) {
    line.ask(version, by);
  }

  /** All first imports have ended, and there are no others. */
  void endOfNew() {
    line.endOfNew();
  }

  /** Has a task done in its turn, be it the next one after another thread's work with its model. */
  private void inLine(
      String model, Runnable task, Consumer<Runnable> joins, Consumer<Runnable> joinsAgain) {
    joins.accept(
        () -> models.unlessBusy(model, task, () -> inLine(model, task, joinsAgain, joinsAgain)));
    try {
      imports.execute(this::takeTurn);
    } catch (RejectedExecutionException e) {
      takeTurn(); // As all stops, work sees that it is over.
    }
  }

  private void takeTurn() {
    line.next().run();
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
  <T> CompletableFuture<T> answer(Supplier<T> question) {
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

  int concurrency() {
    return concurrency;
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
