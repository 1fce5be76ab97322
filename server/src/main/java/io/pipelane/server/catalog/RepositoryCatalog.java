package io.pipelane.server.catalog;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.modelstore.repository.RepositoryScan;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.server.catalog.VersionEntry.Importing;
import io.pipelane.server.catalog.VersionEntry.Leaving;
import io.pipelane.server.catalog.VersionEntry.Ready;
import io.pipelane.server.catalog.VersionEntry.Refused;
import io.pipelane.server.catalog.VersionEntry.Unloaded;
import io.pipelane.switcher.Switcher;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The catalogue of a repository folder: scans it, imports what it finds in the background, and
 * registers with the switcher what can be served.
 */
public final class RepositoryCatalog implements ModelCatalog, AutoCloseable {
  /*
   * Imports of the first scan run on a few threads of their own; loads and unloads, each on a
   * thread of its own, so that an unload never waits behind other models' imports. Both take the
   * model's `operation` lock, which orders them. Readers take no lock.
   */
  private static final System.Logger LOG = System.getLogger(RepositoryCatalog.class.getName());
  private static final Pattern VERSION = Pattern.compile("[1-9][0-9]{0,17}");

  private final Repository repository;
  private final Importer importer;
  private final Switcher switcher;
  private final ExecutorService imports;
  private final ExecutorService operations;
  private final Map<String, CatalogModel> models = new ConcurrentSkipListMap<>();
  private volatile boolean scanned;

  /**
   * Makes an empty catalogue; {@link #start} fills it.
   *
   * @param concurrency imports at a time after the scan
   */
  public RepositoryCatalog(
      Repository repository, Importer importer, Switcher switcher, int concurrency) {
    this.repository = repository;
    this.importer = importer;
    this.switcher = switcher;
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
   * @return completes when every version that the scan found is READY or refused
   * @throws StatusException when the repository cannot be read
   */
  public CompletableFuture<Void> start() {
    RepositoryScan scan = repository.scan();
    scan.problems().forEach(p -> model(p.model()).problem(p.reason()));
    scan.registered().forEach(RepositoryCatalog::warnOfOptions);
    scan.registered().forEach(r -> model(r.version()).put(r.version().version(), new Importing()));
    scanned = true;
    return CompletableFuture.allOf(
        scan.registered().stream()
            .map(found -> CompletableFuture.runAsync(() -> bringIn(found), imports))
            .toArray(CompletableFuture<?>[]::new));
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
  public CompletableFuture<Void> load(String name) {
    return CompletableFuture.runAsync(() -> loadNow(name), operations);
  }

  private void loadNow(String name) {
    RepositoryScan scan = repository.scan();
    List<Registered> found =
        scan.registered().stream().filter(r -> r.version().model().equals(name)).toList();
    List<String> problems =
        scan.problems().stream().filter(p -> p.model().equals(name)).map(p -> p.reason()).toList();
    if (found.isEmpty() && problems.isEmpty()) {
      known(name);
    }
    CatalogModel model = model(name);
    model.operation.lock();
    try {
      model.problem(String.join("; ", problems));
      found.forEach(RepositoryCatalog::warnOfOptions);
      found.forEach(this::bringIn);
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
    } finally {
      model.operation.unlock();
    }
    model.resolve(null);
  }

  @Override
  public CompletableFuture<Void> unload(String name) {
    CatalogModel model = known(name);
    return CompletableFuture.runAsync(
        () -> {
          model.operation.lock();
          try {
            for (long version : model.versions().keySet()) {
              takeOut(model, new ModelVersion(name, version));
            }
          } finally {
            model.operation.unlock();
          }
        },
        operations);
  }

  /** Imports a version, or finds that it has been, and puts it in service. */
  private void bringIn(Registered found) {
    ModelVersion version = found.version();
    CatalogModel model = model(version);
    model.operation.lock();
    try {
      VersionEntry before = model.versions().get(version.version());
      if (!(before instanceof Ready)) {
        model.put(version.version(), new Importing());
      }
      ImportedModel imported = importer.importModel(found.modelFile(), version);
      if (before instanceof Ready(ImportedModel current)) {
        if (current.weights().equals(imported.weights())) {
          return;
        }
        switcher.deregister(version);
        model.put(version.version(), new Importing());
      }
      switcher.register(imported);
      model.put(version.version(), new Ready(imported));
      LOG.log(Level.INFO, "{0} is in service", version);
    } catch (StatusException e) {
      refuse(model, version, e);
    } catch (RuntimeException e) {
      refuse(model, version, new StatusException(Status.INTERNAL, "importing it failed: " + e, e));
    } finally {
      model.operation.unlock();
    }
  }

  /** Options are checked, but requests are not treated by them. */
  private static void warnOfOptions(Registered found) {
    if (!found.options().equals(ModelOptions.DEFAULT)) {
      LOG.log(
          Level.WARNING,
          "{0}: the options in its pipelane.yaml are valid but have no effect in this version",
          found.version());
    }
  }

  /** A version that is in service stays so when what would replace it is refused. */
  private static void refuse(CatalogModel model, ModelVersion version, StatusException cause) {
    LOG.log(Level.WARNING, "{0} is refused: {1}", version, cause.getMessage());
    if (!(model.versions().get(version.version()) instanceof Ready)) {
      model.put(version.version(), new Refused(cause));
    }
  }

  private void takeOut(CatalogModel model, ModelVersion version) {
    if (model.versions().get(version.version()) instanceof Ready) {
      model.put(version.version(), new Leaving());
      switcher.deregister(version);
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
    return models.computeIfAbsent(name, CatalogModel::new);
  }

  /** Imports nothing more; what is in service stays so until the switcher is closed. */
  @Override
  public void close() {
    imports.shutdownNow();
    operations.shutdown();
  }
}
