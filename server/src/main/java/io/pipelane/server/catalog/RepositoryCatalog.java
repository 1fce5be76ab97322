package io.pipelane.server.catalog;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.modelstore.repository.RepositoryScan;
import io.pipelane.modelstore.repository.RepositoryScan.Problem;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.server.catalog.VersionEntry.Importing;
import io.pipelane.server.catalog.VersionEntry.Leaving;
import io.pipelane.server.catalog.VersionEntry.Ready;
import io.pipelane.server.catalog.VersionEntry.Refused;
import io.pipelane.server.catalog.VersionEntry.Unloaded;
import io.pipelane.server.device.ServingDevices;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The catalogue of a repository folder: scans it, imports what it finds in the background, and
 * registers with the devices what can be served.
 */
public final class RepositoryCatalog implements ModelCatalog, AutoCloseable {
  /*
   * Imports of the first scan run on a few threads of their own; loads and unloads, each on a
   * thread of its own, so that an unload never waits behind other models' imports. All of them, and
   * the scan, take the model's `operation` lock, which orders them. Readers take no lock.
   *
   * A queued first import finds the version as the scan left it, Importing, or else does nothing: a
   * load or an unload has been there before it.
   */
  private static final System.Logger LOG = System.getLogger(RepositoryCatalog.class.getName());
  private static final Duration RETRY_AFTER_STOP = Duration.ofSeconds(1);
  private static final Duration LONGEST_STOP = Duration.ofMinutes(1);
  private static final Pattern VERSION = Pattern.compile("[1-9][0-9]{0,17}");

  private final Repository repository;
  private final Importer importer;
  private final ServingDevices devices;
  private final ExecutorService imports;
  private final ExecutorService operations;
  private final Map<String, CatalogModel> models = new ConcurrentSkipListMap<>();
  private volatile boolean scanned;
  private volatile boolean stopping;

  /**
   * Makes an empty catalogue; {@link #start} fills it.
   *
   * @param concurrency imports at a time after the scan
   */
  public RepositoryCatalog(
      Repository repository, Importer importer, ServingDevices devices, int concurrency) {
    this.repository = repository;
    this.importer = importer;
    this.devices = devices;
    // Sessions are built on these threads, and ONNX Runtime belongs on platform threads.
    ThreadFactory importThreads = Thread.ofPlatform().name("import-", 0).daemon().factory();
    this.imports = Executors.newFixedThreadPool(concurrency, importThreads);
    this.operations =
        Executors.newThreadPerTaskExecutor(
            Thread.ofPlatform().name("catalog-", 0).daemon().factory());
  }

  /**
   * Scans the repository, then imports in the background.
   *
   * @return completes when every version that the scan found is READY or refused, or when the
   *     catalogue is stopped
   * @throws StatusException when the repository cannot be read
   */
  public CompletableFuture<Void> start() {
    RepositoryScan scan = repository.scan();
    Map<String, List<String>> problems =
        scan.problems().stream()
            .collect(
                Collectors.groupingBy(
                    Problem::model, Collectors.mapping(Problem::reason, Collectors.toList())));
    problems.forEach(
        (name, reasons) -> exclusively(model(name), model -> model.problem(joined(reasons))));
    scan.registered().forEach(found -> exclusively(model(found.version()), announce(found)));
    scanned = true;
    return CompletableFuture.allOf(
        scan.registered().stream()
            .map(found -> CompletableFuture.runAsync(() -> bringInFirst(found), imports))
            .toArray(CompletableFuture<?>[]::new));
  }

  /** Lists a version as being imported, unless a load was faster than the scan. */
  private static Consumer<CatalogModel> announce(Registered found) {
    long version = found.version().version();
    return model -> {
      if (!model.versions().containsKey(version)) {
        model.put(version, new Importing());
      }
    };
  }

  private void bringInFirst(Registered found) {
    if (stopping) {
      return;
    }
    exclusively(
        model(found.version()),
        model -> {
          if (model.versions().get(found.version().version()) instanceof Importing) {
            bringIn(model, found);
          }
        });
  }

  @Override
  public boolean isReady() {
    return scanned;
  }

  @Override
  public List<Entry> index() {
    return models.values().stream().flatMap(CatalogModel::index).toList();
  }

  @Override
  public ServedModel resolve(String name, @Nullable String version) {
    if (version != null && !VERSION.matcher(version).matches()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "version \"" + version + "\" is not a positive integer of at most 18 digits");
    }
    return known(name).resolve(version == null ? null : Long.valueOf(version));
  }

  @Override
  public CompletableFuture<Void> load(String name, Optional<Duration> within) {
    return operate(() -> loadNow(name, within));
  }

  private void loadNow(String name, Optional<Duration> within) {
    RepositoryScan scan = repository.scan();
    List<Registered> found =
        scan.registered().stream().filter(r -> r.version().model().equals(name)).toList();
    List<String> problems =
        scan.problems().stream().filter(p -> p.model().equals(name)).map(Problem::reason).toList();
    if (found.isEmpty() && problems.isEmpty()) {
      known(name);
    }
    // What comes of this load is seen before another operation begins.
    exclusively(
        model(name),
        model -> {
          update(model, name, found, problems);
          if (stopping) {
            throw stopped();
          }
          devices.wish(model.resolve(null).version(), within);
        });
  }

  private void update(
      CatalogModel model, String name, List<Registered> found, List<String> problems) {
    model.problem(joined(problems));
    found.forEach(version -> bringIn(model, version));
    if (!problems.isEmpty()) {
      return; // What cannot be read takes nothing out of service.
    }
    List<Long> gone =
        model.versions().keySet().stream()
            .filter(v -> found.stream().noneMatch(r -> r.version().version() == v))
            .toList();
    for (long version : gone) {
      takeOut(model, new ModelVersion(name, version));
      model.remove(version);
    }
    if (model.versions().isEmpty()) {
      model.problem("its folder is no longer in the repository");
    }
  }

  @Override
  public CompletableFuture<Void> unload(String name) {
    CatalogModel known = known(name);
    return operate(
        () ->
            exclusively(
                known,
                model -> {
                  for (long version : model.versions().keySet()) {
                    takeOut(model, new ModelVersion(name, version));
                  }
                }));
  }

  private CompletableFuture<Void> operate(Runnable operation) {
    try {
      return CompletableFuture.runAsync(operation, operations);
    } catch (RejectedExecutionException e) {
      return CompletableFuture.failedFuture(stopped());
    }
  }

  private static void exclusively(CatalogModel model, Consumer<CatalogModel> action) {
    model.operation.lock();
    try {
      action.accept(model);
    } finally {
      model.operation.unlock();
    }
  }

  /** Imports a version, or finds that it has been, and puts it in service. */
  private void bringIn(CatalogModel model, Registered found) {
    ModelVersion version = found.version();
    VersionEntry before = model.versions().get(version.version());
    try {
      if (stopping) {
        throw stopped();
      }
      if (!(before instanceof Ready)) {
        model.put(version.version(), new Importing());
      }
      ImportedModel imported =
          importer
              .importModel(found.modelFile(), version)
              .withBuckets(found.options().buckets())
              .ofTenant(found.options().tenant());
      Ready next = new Ready(imported, found.options());
      if (!(before instanceof Ready current)) {
        serve(model, next);
      } else if (current.imported().equals(imported)) {
        devices.trust(version);
        devices.agree(imported, found.options());
        model.put(version.version(), next); // Its options may have changed.
      } else {
        replace(model, current, next);
      }
    } catch (StatusException e) {
      refuse(model, version, e);
    } catch (RuntimeException | Error e) {
      refuse(model, version, new StatusException(Status.INTERNAL, "importing it failed: " + e, e));
    }
  }

  private void serve(CatalogModel model, Ready next) {
    ModelVersion version = next.imported().version();
    devices.register(next.imported(), next.options());
    if (next.options().warmUp()) {
      warmUp(version);
    }
    model.put(version.version(), next);
    LOG.log(Level.INFO, "{0} is in service", version);
  }

  /** Makes a version resident; one that cannot be is not left registered. */
  private void warmUp(ModelVersion version) {
    try {
      devices.warmUp(version);
    } catch (RuntimeException | Error e) {
      devices.deregister(version);
      throw e;
    }
  }

  /** Puts a version's new content in service, or else its old content again. */
  private void replace(CatalogModel model, Ready current, Ready next) {
    ModelVersion version = next.imported().version();
    model.put(version.version(), new Importing());
    devices.deregister(version);
    try {
      serve(model, next);
    } catch (RuntimeException | Error e) {
      LOG.log(
          Level.WARNING,
          "{0}: its new content is refused, so the old goes back in service: {1}",
          version,
          e.getMessage());
      serve(model, current);
      throw e;
    }
  }

  /** A version that is in service stays so when what would replace it is refused. */
  private static void refuse(CatalogModel model, ModelVersion version, StatusException cause) {
    Level level = cause.status() == Status.CANCELLED ? Level.DEBUG : Level.WARNING;
    LOG.log(level, "{0} is refused: {1}", version, cause.getMessage());
    if (!(model.versions().get(version.version()) instanceof Ready)) {
      model.put(version.version(), new Refused(cause));
    }
  }

  private void takeOut(CatalogModel model, ModelVersion version) {
    if (model.versions().get(version.version()) instanceof Ready) {
      model.put(version.version(), new Leaving());
      devices.deregister(version);
    }
    model.put(version.version(), new Unloaded());
  }

  private CatalogModel known(String name) {
    CatalogModel model = models.get(name);
    if (model == null) {
      throw new StatusException(Status.NOT_FOUND, "there is no model \"" + name + "\"");
    }
    return model;
  }

  private CatalogModel model(ModelVersion version) {
    return model(version.model());
  }

  private CatalogModel model(String name) {
    return models.computeIfAbsent(
        name, absent -> new CatalogModel(absent, devices::notes, devices::quarantine));
  }

  private static String joined(List<String> reasons) {
    return String.join("; ", reasons);
  }

  private static StatusException stopped() {
    return StatusException.unavailable("the server is shutting down", RETRY_AFTER_STOP);
  }

  /**
   * Takes no more loads and unloads, and interrupts the imports that run; returns at once. What is
   * in service stays so.
   */
  public void stop() {
    stopping = true;
    operations.shutdownNow();
    imports.shutdownNow().forEach(Runnable::run); // They see that it is over, and complete.
  }

  /**
   * Stops, and waits until nothing uses the importer or the devices any more.
   *
   * @throws IllegalStateException when that takes too long
   */
  @Override
  public void close() {
    stop();
    long deadline = System.nanoTime() + LONGEST_STOP.toNanos();
    boolean ended;
    try {
      ended =
          imports.awaitTermination(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)
              && operations.awaitTermination(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      ended = false;
    }
    if (!ended) {
      throw new IllegalStateException("imports are still under way");
    }
  }
}
