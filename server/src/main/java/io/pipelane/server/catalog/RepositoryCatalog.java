package io.pipelane.server.catalog;

import static java.util.stream.Collectors.joining;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.modelstore.repository.CarriedModel;
import io.pipelane.modelstore.repository.IncomingVersion;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.modelstore.repository.RepositoryScan;
import io.pipelane.modelstore.repository.RepositoryScan.Problem;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.modelstore.repository.RepositoryWriter;
import io.pipelane.modelstore.repository.TritonConfig;
import io.pipelane.server.catalog.VersionEntry.Importing;
import io.pipelane.server.catalog.VersionEntry.Leaving;
import io.pipelane.server.catalog.VersionEntry.Ready;
import io.pipelane.server.catalog.VersionEntry.Refused;
import io.pipelane.server.catalog.VersionEntry.Unloaded;
import io.pipelane.server.device.ServingDevices;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
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
   * Imports, loads, unloads, deletions and the scan take the model's `operation` lock, which orders
   * them. Readers take no lock.
   *
   * A queued first import finds the version as the scan left it, Importing, or else does nothing: a
   * load or an unload has been there before it.
   *
   * `carried` is changed under the model's `operation` lock.
   */
  private static final System.Logger LOG = System.getLogger(RepositoryCatalog.class.getName());
  private static final Pattern VERSION = Pattern.compile("[1-9][0-9]{0,17}");

  private static final String NO_FILES =
      "files that come with a load are not taken here; start the server with repository.upload,"
          + " or put them into the repository and load the model by name";

  private final Repository repository;
  private final Optional<RepositoryWriter> writer;
  private final Importer importer;
  private final ServingDevices devices;
  private final CatalogThreads threads;
  private final Map<String, CarriedModel> carried = new ConcurrentHashMap<>();
  private final Map<String, CatalogModel> models = new ConcurrentSkipListMap<>();
  private volatile boolean scanned;

  /**
   * Makes an empty catalogue; {@link #start} fills it.
   *
   * @param writer puts versions into the repository and takes them out; empty where nothing may
   * @param concurrency imports at a time after the scan
   */
  public RepositoryCatalog(
      Repository repository,
      Optional<RepositoryWriter> writer,
      Importer importer,
      ServingDevices devices,
      int concurrency) {
    this.repository = repository;
    this.writer = writer;
    this.importer = importer;
    this.devices = devices;
    this.threads = new CatalogThreads(concurrency);
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
    problems.forEach((name, reasons) -> exclusively(name, model -> model.problem(joined(reasons))));
    IgnoredKeys.warn(scan.registered());
    scan.registered().forEach(found -> exclusively(found.version().model(), announce(found)));
    scanned = true;
    return CompletableFuture.allOf(
        scan.registered().stream()
            .map(found -> threads.runImport(() -> bringInFirst(found)))
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
    if (threads.isStopping()) {
      return;
    }
    exclusively(
        found.version().model(),
        model -> {
          if (model.versions().get(found.version().version()) instanceof Importing) {
            Optional<StatusException> _ = bringIn(model, found); // The index tells.
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
    return known(name).resolve(version == null ? null : number(version));
  }

  private static long number(String version) {
    if (!VERSION.matcher(version).matches()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "version \"" + version + "\" is not a positive integer of at most 18 digits");
    }
    return Long.parseLong(version);
  }

  @Override
  public ByteSize uploadLimit() {
    return writer.map(RepositoryWriter::limit).orElseGet(ModelCatalog.super::uploadLimit);
  }

  @Override
  public IncomingVersion receive(String name, String version, IncomingVersion.Form form) {
    ModelVersion received = new ModelVersion(name, number(version));
    return writer
        .map(into -> into.receive(received, form))
        .orElseGet(() -> ModelCatalog.super.receive(name, version, form));
  }

  @Override
  public CompletableFuture<Void> delete(String name, String version) {
    ModelVersion deleted = new ModelVersion(name, number(version));
    return writer
        .map(from -> threads.operate(() -> deleteNow(from, deleted)))
        .orElseGet(() -> ModelCatalog.super.delete(name, version));
  }

  private void deleteNow(RepositoryWriter from, ModelVersion version) {
    exclusively(
        version.model(),
        model -> {
          boolean isCarriedAlone =
              carried.containsKey(version.model())
                  && model.versions().containsKey(version.version())
                  && !from.has(version);
          if (isCarriedAlone) {
            forget(model, version);
          } else {
            from.delete(version, () -> forget(model, version));
          }
          if (model.versions().isEmpty()) {
            model.problem("");
            keep(version.model(), null);
          }
        });
  }

  private void forget(CatalogModel model, ModelVersion version) {
    if (model.versions().containsKey(version.version())) {
      takeOut(model, version);
      model.remove(version.version());
    }
  }

  @Override
  public TritonConfig declared(ModelVersion version) {
    return known(version.model()).declared(version.version());
  }

  @Override
  public CompletableFuture<Void> load(String name, LoadOptions options) {
    return threads.operate(() -> loadNow(name, options));
  }

  private void loadNow(String name, LoadOptions options) {
    Optional<TritonConfig> config = options.config().map(json -> TritonConfig.ofJson(json, name));
    if (options.files().isEmpty()) {
      exclusively(
          name, model -> load(model, name, repository.scan(name, config), null, options.within()));
      return;
    }
    CarriedModel files =
        writer
            .orElseThrow(() -> new StatusException(Status.UNIMPLEMENTED, NO_FILES))
            .carry(name, options.files());
    try {
      RepositoryScan scan = files.repository().scan(name, config);
      if (scan.registered().isEmpty()) {
        throw new StatusException(Status.INVALID_ARGUMENT, noVersion(options, scan));
      }
      exclusively(name, model -> load(model, name, scan, files, options.within()));
    } catch (RuntimeException | Error e) {
      if (carried.get(name) != files) {
        files.close();
      }
      throw e;
    }
  }

  private static String noVersion(LoadOptions options, RepositoryScan scan) {
    return "no version is among the files "
        + options.files().keySet()
        + "; name them like 1/model.onnx"
        + scan.problems().stream().map(problem -> "; " + problem.reason()).collect(joining());
  }

  /**
   * Does with a model what a scan of it says; what comes of that is seen before another operation
   * begins.
   *
   * @param files where its files lie, if they came with the load; kept until the next one
   * @throws StatusException why a version is refused; what was in service stays so
   */
  private void load(
      CatalogModel model,
      String name,
      RepositoryScan scan,
      @Nullable CarriedModel files,
      Optional<Duration> within) {
    List<Registered> found = scan.registered();
    List<String> problems = scan.problems().stream().map(Problem::reason).toList();
    if (found.isEmpty() && problems.isEmpty() && model.isEmpty()) {
      throw unknown(name);
    }
    Optional<StatusException> refused = update(model, name, found, problems);
    keep(name, files);
    if (threads.isStopping()) {
      throw CatalogThreads.stopped();
    }
    if (refused.isPresent()) {
      throw refused.get();
    }
    devices.wish(model.resolve(null).version(), within);
  }

  /** Keeps the files of a model's last load instead of those before them. */
  private void keep(String name, @Nullable CarriedModel files) {
    @Nullable CarriedModel before = files == null ? carried.remove(name) : carried.put(name, files);
    if (before != null) {
      before.close();
    }
  }

  /** Returns why something is refused; nothing is taken out of service then. */
  private Optional<StatusException> update(
      CatalogModel model, String name, List<Registered> found, List<String> problems) {
    model.problem(joined(problems));
    IgnoredKeys.warn(found);
    List<StatusException> refused = new ArrayList<>();
    for (Registered version : found) {
      bringIn(model, version).ifPresent(refused::add);
    }
    if (!problems.isEmpty()) {
      return Optional.of(new StatusException(Status.INVALID_ARGUMENT, joined(problems)));
    }
    if (!refused.isEmpty()) {
      return Optional.of(refused.getFirst());
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
    return Optional.empty();
  }

  @Override
  public CompletableFuture<Void> unload(String name) {
    CatalogModel _ = known(name);
    return threads.operate(
        () ->
            exclusively(
                name,
                model -> {
                  for (long version : model.versions().keySet()) {
                    takeOut(model, new ModelVersion(name, version));
                  }
                }));
  }

  /** Does something with a model, which is made if need be, and forgotten if nothing is left. */
  private void exclusively(String name, Consumer<CatalogModel> action) {
    boolean done = false;
    while (!done) {
      CatalogModel model = model(name);
      model.operation.lock();
      try {
        if (models.get(name) == model) { // Somebody may have deleted its last version meanwhile.
          done = true;
          action.accept(model);
        }
      } finally {
        if (model.isEmpty()) {
          models.remove(name, model);
        }
        model.operation.unlock();
      }
    }
  }

  /** Imports a version, or finds that it has been, and puts it in service, unless it is refused. */
  private Optional<StatusException> bringIn(CatalogModel model, Registered found) {
    ModelVersion version = found.version();
    VersionEntry before = model.versions().get(version.version());
    try {
      if (threads.isStopping()) {
        throw CatalogThreads.stopped();
      }
      if (!(before instanceof Ready)) {
        model.put(version.version(), new Importing());
      }
      ImportedModel imported =
          importer
              .importModel(found.modelFile(), version)
              .withBuckets(found.options().buckets())
              .ofTenant(found.options().tenant());
      found.declared().check(imported.plan().inputs(), imported.plan().outputs());
      Ready next = new Ready(imported, found.options(), found.declared());
      if (!(before instanceof Ready current)) {
        serve(model, next);
      } else if (current.imported().equals(imported)) {
        devices.trust(version);
        devices.agree(imported, found.options());
        model.put(version.version(), next); // Its options may have changed.
      } else {
        replace(model, current, next);
      }
      return Optional.empty();
    } catch (StatusException e) {
      return refuse(model, version, e);
    } catch (RuntimeException | Error e) {
      return refuse(
          model, version, new StatusException(Status.INTERNAL, "importing it failed: " + e, e));
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
  private static Optional<StatusException> refuse(
      CatalogModel model, ModelVersion version, StatusException cause) {
    Level level = cause.status() == Status.CANCELLED ? Level.DEBUG : Level.WARNING;
    LOG.log(level, "{0} is refused: {1}", version, cause.getMessage());
    if (!(model.versions().get(version.version()) instanceof Ready)) {
      model.put(version.version(), new Refused(cause));
    }
    return Optional.of(cause);
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
      throw unknown(name);
    }
    return model;
  }

  private static StatusException unknown(String name) {
    return new StatusException(Status.NOT_FOUND, "there is no model \"" + name + "\"");
  }

  private CatalogModel model(String name) {
    return models.computeIfAbsent(
        name, absent -> new CatalogModel(absent, devices::notes, devices::quarantine));
  }

  private static String joined(List<String> reasons) {
    return String.join("; ", reasons);
  }

  /**
   * Takes no more loads and unloads, and interrupts the imports that run; returns at once. What is
   * in service stays so.
   */
  public void stop() {
    threads.stop();
  }

  /**
   * Stops, and waits until nothing uses the importer or the devices any more.
   *
   * @throws IllegalStateException when that takes too long
   */
  @Override
  public void close() {
    stop();
    threads.await();
    carried.values().forEach(CarriedModel::close);
  }
}
