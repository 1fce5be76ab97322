package io.pipelane.server.catalog;

import io.pipelane.config.StatusException;
import io.pipelane.modelstore.importing.Importer.EarlierRefusal;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.server.catalog.VersionEntry.Importing;
import io.pipelane.server.catalog.VersionEntry.Ready;
import io.pipelane.server.catalog.VersionEntry.Refused;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;

/**
 * The way into service of what a start's scan has found: first what needs no import process, as an
 * earlier start has left it, then what is new. Safe for any thread.
 */
final class FirstImports {
  /*
   * A queued import finds the version as the scan left it, Importing. Otherwise a load or an unload
   * has been there before it, and it does nothing. What was imported earlier goes first, as the
   * import of a new one takes a process, and minutes if its file is hostile.
   */
  private static final System.Logger LOG = System.getLogger(FirstImports.class.getName());

  private final List<Registered> all;
  private final CatalogModels models;
  private final VersionLifecycle versions;
  private final VersionLifecycle.Registration registration;
  private final CatalogThreads threads;
  private final LongSupplier nanoClock;

  /**
   * Nothing has begun.
   *
   * @param all what the scan has found, in the order in which it is wanted
   * @param registration makes what has been imported known to the devices
   */
  FirstImports(
      List<Registered> all,
      CatalogModels models,
      VersionLifecycle versions,
      VersionLifecycle.Registration registration,
      CatalogThreads threads,
      LongSupplier nanoClock) {
    this.all = List.copyOf(all);
    this.models = models;
    this.versions = versions;
    this.registration = registration;
    this.threads = threads;
    this.nanoClock = nanoClock;
  }

  /**
   * Begins.
   *
   * @return for each version, in order: completes when it is READY or refused, or when all stops
   */
  List<CompletableFuture<Void>> begin() {
    long begun = nanoClock.getAsLong();
    ImportProgress progress = new ImportProgress(begun);
    List<CompletableFuture<Void>> looks = new ArrayList<>();
    List<CompletableFuture<Void>> imports = new ArrayList<>();
    for (Registered found : all) {
      CompletableFuture<Boolean> look =
          threads
              .importKnown(found.version().model(), () -> bringInUnlessNew(found))
              .handle((_, _) -> isStillNew(found, progress)); // What failed, its import tells.
      looks.add(look.thenAccept(_ -> {}));
      imports.add(
          look.thenCompose(
              isNew ->
                  isNew ? importNew(found, progress) : CompletableFuture.completedFuture(null)));
    }
    CompletableFuture<Void> _ = allOf(looks).thenRun(() -> tellNew(progress.count()));
    CompletableFuture<Void> _ =
        allOf(imports).whenComplete((_, _) -> threads.endOfNew()).thenRun(() -> tellEnd(begun));
    return imports;
  }

  private CompletableFuture<Void> importNew(Registered found, ImportProgress progress) {
    return threads.importNew(
        found.version(),
        () -> {
          bringIn(found);
          progress.advance(nanoClock.getAsLong()).ifPresent(line -> LOG.log(Level.INFO, line));
        });
  }

  private boolean isStillNew(Registered found, ImportProgress progress) {
    boolean isNew = !threads.isStopping() && isNow(found, Importing.class);
    if (isNew) {
      progress.add();
    }
    return isNew;
  }

  /** Completes when all do. */
  static CompletableFuture<Void> allOf(List<CompletableFuture<Void>> all) {
    return CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new));
  }

  private boolean isNow(Registered found, Class<? extends VersionEntry> state) {
    return models
        .find(found.version().model())
        .filter(model -> state.isInstance(model.versions().get(found.version().version())))
        .isPresent();
  }

  private void bringInUnlessNew(Registered found) {
    if (!threads.isStopping() && !versions.isNew(found)) {
      bringIn(found);
    }
  }

  private void bringIn(Registered found) {
    if (threads.isStopping()) {
      return;
    }
    models.exclusively(
        found.version().model(),
        model -> {
          if (model.versions().get(found.version().version()) instanceof Importing) {
            Optional<StatusException> _ =
                versions.bringIn(
                    model, found, registration, EarlierRefusal.HOLDS); // The index tells.
          }
        });
  }

  /** Says how much there is to be imported, which may take long. */
  private void tellNew(int count) {
    if (count > 0 && !threads.isStopping()) {
      LOG.log(
          Level.INFO,
          "{0} of {1} versions are not recognised yet: they are read, and imported unless the cache"
              + " has their content, {2} at a time (import.concurrency), those that are asked for"
              + " first",
          count,
          all.size(),
          threads.concurrency());
    }
  }

  private void tellEnd(long begun) {
    if (all.isEmpty() || threads.isStopping()) {
      return;
    }
    long ready = all.stream().filter(found -> isNow(found, Ready.class)).count();
    long refused = all.stream().filter(found -> isNow(found, Refused.class)).count();
    Duration taken = Duration.ofNanos(nanoClock.getAsLong() - begun);
    LOG.log(
        Level.INFO,
        "{0} of {1} versions are in service, {2} after the scan{3}",
        ready,
        all.size(),
        ImportProgress.text(taken),
        refused == 0 ? "" : "; " + refused + " are refused (the index says why)");
  }
}
