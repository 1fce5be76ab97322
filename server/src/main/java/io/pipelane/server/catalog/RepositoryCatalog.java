package io.pipelane.server.catalog;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.modelstore.repository.IncomingVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.modelstore.repository.RepositoryScan;
import io.pipelane.modelstore.repository.RepositoryScan.Problem;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.modelstore.repository.RepositoryWriter;
import io.pipelane.modelstore.repository.TritonConfig;
import io.pipelane.modelstore.repository.VersionChoice;
import io.pipelane.modelstore.repository.VersionChoices;
import io.pipelane.server.catalog.VersionEntry.Importing;
import io.pipelane.server.device.ServingDevices;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The catalogue of a repository folder: scans it, imports what it finds in the background, and
 * registers with the devices what can be served.
 */
public final class RepositoryCatalog implements ModelCatalog, AutoCloseable {
  /*
   * Imports, loads, unloads, deletions and the scan are done `exclusively` with their model, under
   * its `operation` lock, which orders them. Readers take no lock. `carried` is changed under that
   * lock, too.
   *
   * What the scan found goes into service without sessions, so that it can be asked for at once.
   * The sessions are built ahead, each under its model's `operation` lock, which keeps it
   * registered.
   */
  private static final System.Logger LOG = System.getLogger(RepositoryCatalog.class.getName());

  private static final Pattern VERSION = Pattern.compile("[1-9][0-9]{0,17}");

  private final Repository repository;
  private final VersionChoices choices;
  private final Optional<RepositoryWriter> writer;
  private final ServingDevices devices;
  private final CatalogThreads threads;
  private final VersionLifecycle versions;
  private final Popularity popularity;
  private final SessionBuilds builds;
  private final CarriedFiles carried = new CarriedFiles();
  private final CatalogModels models;
  private final CatalogLoads loads;
  private final CatalogDeletions deletions;
  private final IdleContents idle = new IdleContents(this::endIdle);
  private CompletableFuture<Void> built = CompletableFuture.completedFuture(null);

  /**
   * Makes an empty catalogue; {@link #start} fills it.
   *
   * @param choices what is chosen of versions; the repository scans by it
   * @param writer puts versions into the repository and takes them out; empty where nothing may
   * @param warmUps has a version run what its options declare before it is READY; throws a
   *     StatusException where that refuses it
   * @param concurrency imports at a time that nobody has ordered by name
   * @param popularity by which what the scan finds is brought in, and sessions are built
   */
  public RepositoryCatalog(
      Repository repository,
      VersionChoices choices,
      Optional<RepositoryWriter> writer,
      Importer importer,
      ServingDevices devices,
      Consumer<ServedModel> warmUps,
      int concurrency,
      Popularity popularity) {
    this.popularity = popularity;
    this.repository = repository;
    this.choices = choices;
    this.writer = writer;
    this.devices = devices;
    this.models =
        new CatalogModels(
            name -> new CatalogModel(name, choices.of(name), devices::notes, devices::quarantine));
    this.threads = new CatalogThreads(models, concurrency);
    this.versions = new VersionLifecycle(importer, devices, warmUps, threads);
    this.loads = new CatalogLoads(repository, writer, devices, threads, versions, models, carried);
    this.deletions = new CatalogDeletions(repository, devices, versions, models, carried);
    this.builds =
        new SessionBuilds(
            SessionBuilds.atOnce(),
            version ->
                models.exclusively(version.model(), model -> versions.buildAhead(model, version)),
            devices::isIdle,
            System::nanoTime,
            LockSupport::parkNanos);
  }

  /**
   * Scans the repository, then imports in the background: first what needs no import process, as an
   * earlier start has left it, and of either kind the most popular models first.
   *
   * @return completes when every version that the scan found is READY or refused, or when the
   *     catalogue is stopped
   * @throws StatusException when the repository cannot be read
   */
  public CompletableFuture<Void> start() {
    RepositoryScan scan = repository.scan();
    tell(scan.problems());
    IgnoredKeys.warn(scan.registered());
    scan.registered()
        .forEach(found -> models.exclusively(found.version().model(), announce(found)));
    models.scanned();
    threads.nowAndThen(this::keepPopularity);
    threads.nowAndThen(() -> devices.besideIdle().forEach(idle::leaveBeside));
    Map<ModelVersion, Double> uses = popularity.all();
    ToDoubleFunction<Registered> popular =
        found -> uses.getOrDefault(found.version(), Double.NEGATIVE_INFINITY);
    List<Registered> sorted = Popularity.sorted(scan.registered(), popular);
    List<CompletableFuture<Void>> imports =
        new FirstImports(sorted, models, versions, devices::announce, threads, System::nanoTime)
            .begin();
    List<CompletableFuture<Void>> sessions = new ArrayList<>();
    for (int i = 0; i < sorted.size(); i++) {
      Registered found = sorted.get(i);
      sessions.add(
          imports
              .get(i)
              .thenCompose(_ -> builds.add(found.version(), popular.applyAsDouble(found))));
    }
    built = FirstImports.allOf(sessions);
    return FirstImports.allOf(imports);
  }

  /** A line for each reason, of all models that have it. */
  private void tell(List<Problem> problems) {
    Map<String, List<String>> reasons =
        problems.stream()
            .collect(
                Collectors.groupingBy(
                    Problem::model,
                    TreeMap::new,
                    Collectors.mapping(Problem::reason, Collectors.toList())));
    Map<String, List<String>> names = new TreeMap<>();
    reasons.forEach(
        (name, all) -> {
          models.exclusively(name, model -> model.problem(joined(all)));
          names.computeIfAbsent(joined(all), _ -> new ArrayList<>()).add(name);
        });
    names.forEach(
        (reason, all) ->
            LOG.log(
                System.Logger.Level.WARNING,
                "{0} cannot be registered: {1}",
                String.join(", ", all),
                reason));
  }

  /**
   * Completes when the sessions of what the start's scan found are built as far as there is room,
   * or when the catalogue is stopped; after {@link #start}.
   */
  public CompletableFuture<Void> built() {
    return built;
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

  @Override
  public boolean isReady() {
    return models.isScanned();
  }

  @Override
  public List<Entry> index() {
    return models.all().flatMap(CatalogModel::index).toList();
  }

  @Override
  public ServedModel resolve(String name, String version) {
    return models.resolve(name, version);
  }

  @Override
  public boolean isImporting(String name, String version) {
    return !importing(name, version).isEmpty();
  }

  @Override
  public void want(String name, String version, Priority by) {
    importing(name, version).forEach(wanted -> threads.ask(wanted, by));
  }

  private List<ModelVersion> importing(String name, String version) {
    return models.find(name).map(model -> model.importing(version)).orElse(List.of());
  }

  @Override
  public boolean knows(String name, String version) {
    return models.find(name).filter(model -> model.knows(version)).isPresent();
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
    return writer
        .map(into -> into.receive(new ModelVersion(name, number(version)), form))
        .orElseGet(() -> ModelCatalog.super.receive(name, version, form));
  }

  @Override
  public CompletableFuture<Void> delete(String name, String version) {
    if (writer.isEmpty()) {
      return ModelCatalog.super.delete(name, version);
    }
    ModelVersion deleted = new ModelVersion(name, number(version));
    return threads.operate(() -> deletions.delete(writer.get(), deleted));
  }

  @Override
  public CompletableFuture<byte[]> options(String name) {
    return writer
        .map(from -> from.options(name))
        .map(stored -> threads.answer(stored::read))
        .orElseGet(() -> ModelCatalog.super.options(name));
  }

  @Override
  public CompletableFuture<Void> changeOptions(
      String name, byte[] yaml, Consumer<String> permission) {
    return writer
        .map(into -> into.options(name))
        .map(stored -> threads.operate(() -> stored.write(yaml, permission)))
        .orElseGet(() -> ModelCatalog.super.changeOptions(name, yaml, permission));
  }

  @Override
  public TritonConfig declared(ModelVersion version) {
    return models.known(version.model()).declared(version.version());
  }

  @Override
  public CompletableFuture<Void> load(String name, LoadOptions options) {
    return threads.operate(() -> loads.load(name, options));
  }

  @Override
  public CompletableFuture<Void> reload(String name) {
    return threads.importChange(name, () -> loads.reload(name));
  }

  @Override
  public VersionChoice choice(String name) {
    return models.known(name).choice();
  }

  @Override
  public CompletableFuture<Void> choose(String name, UnaryOperator<VersionChoice> change) {
    CatalogModel _ = models.known(name);
    return threads.operate(() -> models.exclusively(name, model -> chooseNow(model, name, change)));
  }

  private void chooseNow(CatalogModel model, String name, UnaryOperator<VersionChoice> change) {
    VersionChoice next = change.apply(model.choice());
    boolean isElsewhere = carried.has(name);
    if (model.isUnloaded() || (isElsewhere && !next.served().equals(model.choice().served()))) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "model \"%s\" is not served from the repository; load it from there first"
              .formatted(name));
    }
    List<Registered> found = isElsewhere ? List.of() : sound(name, model, next);
    Set<Long> wanted = new TreeSet<>(isElsewhere ? model.versions().keySet() : Set.of());
    found.forEach(version -> wanted.add(version.version().version()));
    versions.choose(model, next, found, wanted, () -> choices.put(name, next));
  }

  /** What a choice names of a folder in which nothing is wrong, nor half there. */
  private List<Registered> sound(String name, CatalogModel model, VersionChoice next) {
    RepositoryScan scan = repository.scan(name, model.standing(), next);
    if (!scan.problems().isEmpty()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, joined(scan.problems().stream().map(Problem::reason).toList()));
    }
    return scan.registered();
  }

  @Override
  public CompletableFuture<Void> unload(String name) {
    CatalogModel _ = models.known(name);
    return threads.operate(
        () ->
            models.exclusively(
                name,
                model -> {
                  for (long version : model.versions().keySet()) {
                    versions.takeOut(model, version);
                  }
                }));
  }

  private void keepPopularity() {
    popularity.keep(
        version -> {
          Optional<CatalogModel> model = models.find(version.model());
          return model.isPresent() && model.get().versions().containsKey(version.version());
        });
  }

  private CompletableFuture<Void> endIdle(ModelVersion latest) {
    return threads.operate(
        () -> models.exclusively(latest.model(), _ -> devices.deregisterIdle(latest)));
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
    builds.stop();
    if (isReady()) {
      keepPopularity();
    }
  }

  /**
   * Stops, and waits until nothing uses the importer or the devices any more.
   *
   * @throws IllegalStateException when that takes too long
   */
  @Override
  public void close() {
    stop();
    threads.await(builds);
    carried.close();
  }
}
