package io.pipelane.server.catalog;

import static java.util.stream.Collectors.joining;

import io.pipelane.config.ByteSize;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
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
import io.pipelane.modelstore.repository.VersionChoice;
import io.pipelane.modelstore.repository.VersionChoices;
import io.pipelane.server.catalog.VersionEntry.Importing;
import io.pipelane.server.device.ServingDevices;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

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
   * A queued first import finds the version as the scan left it, Importing. Otherwise a load or an
   * unload has been there before it, and it does nothing.
   *
   * What the scan found goes into service without sessions, so that it can be asked for at once.
   * The sessions are built ahead, each under its model's `operation` lock, which keeps it
   * registered.
   */
  private static final System.Logger LOG = System.getLogger(RepositoryCatalog.class.getName());

  private static final Pattern VERSION = Pattern.compile("[1-9][0-9]{0,17}");

  private static final String NO_FILES =
      "files that come with a load are not taken here; start the server with repository.upload,"
          + " or put them into the repository and load the model by name";

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
  private volatile boolean scanned;
  private CompletableFuture<Void> built = CompletableFuture.completedFuture(null);

  /**
   * Makes an empty catalogue; {@link #start} fills it.
   *
   * @param choices what is chosen of versions; the repository scans by it
   * @param writer puts versions into the repository and takes them out; empty where nothing may
   * @param warmUps has a version run what its options declare before it is READY; throws a
   *     StatusException where that refuses it
   * @param concurrency imports at a time after the scan
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
    this.threads = new CatalogThreads(concurrency);
    this.versions = new VersionLifecycle(importer, devices, warmUps, threads);
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
   * Scans the repository, then imports in the background, the most popular models first.
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
        (name, reasons) -> {
          LOG.log(
              System.Logger.Level.WARNING, "{0} cannot be registered: {1}", name, joined(reasons));
          models.exclusively(name, model -> model.problem(joined(reasons)));
        });
    IgnoredKeys.warn(scan.registered());
    scan.registered()
        .forEach(found -> models.exclusively(found.version().model(), announce(found)));
    scanned = true;
    threads.nowAndThen(this::keepPopularity);
    Map<ModelVersion, Double> uses = popularity.all();
    ToDoubleFunction<Registered> popular =
        found -> uses.getOrDefault(found.version(), Double.NEGATIVE_INFINITY);
    List<CompletableFuture<Void>> imports = new ArrayList<>();
    List<CompletableFuture<Void>> sessions = new ArrayList<>();
    for (Registered found : Popularity.sorted(scan.registered(), popular)) {
      CompletableFuture<Void> imported = threads.runImport(() -> bringInFirst(found));
      imports.add(imported);
      sessions.add(
          imported.thenCompose(_ -> builds.add(found.version(), popular.applyAsDouble(found))));
    }
    built = allOf(sessions);
    return allOf(imports);
  }

  private static CompletableFuture<Void> allOf(List<CompletableFuture<Void>> all) {
    return CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new));
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

  private void bringInFirst(Registered found) {
    if (threads.isStopping()) {
      return;
    }
    models.exclusively(
        found.version().model(),
        model -> {
          if (model.versions().get(found.version().version()) instanceof Importing) {
            Optional<StatusException> _ =
                versions.bringIn(model, found, devices::announce); // The index tells.
          }
        });
  }

  @Override
  public boolean isReady() {
    return scanned;
  }

  @Override
  public List<Entry> index() {
    return models.all().flatMap(CatalogModel::index).toList();
  }

  @Override
  public ServedModel resolve(String name, String version) {
    return models.known(name).resolve(version);
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

  @Override
  public CompletableFuture<byte[]> options(String name) {
    return writer
        .map(from -> from.options(name))
        .map(stored -> threads.ask(stored::read))
        .orElseGet(() -> ModelCatalog.super.options(name));
  }

  @Override
  public CompletableFuture<Void> changeOptions(String name, byte[] yaml) {
    return writer
        .map(into -> into.options(name))
        .map(stored -> threads.operate(() -> stored.write(yaml)))
        .orElseGet(() -> ModelCatalog.super.changeOptions(name, yaml));
  }

  private void deleteNow(RepositoryWriter from, ModelVersion version) {
    models.exclusively(
        version.model(),
        model -> {
          boolean isCarriedAlone =
              carried.has(version.model())
                  && model.versions().containsKey(version.version())
                  && !from.has(version);
          List<String> uses = model.choice().uses(version.version());
          if (!uses.isEmpty()) {
            throw new StatusException(
                Status.INVALID_ARGUMENT,
                "%s is not deleted: %s; choose another one first"
                    .formatted(version, String.join(", ", uses)));
          }
          if (isCarriedAlone) {
            forget(model, version);
          } else {
            from.delete(version, () -> forget(model, version));
          }
          if (model.versions().isEmpty()) {
            model.problem("");
            carried.keep(version.model(), null);
          }
        });
  }

  private void forget(CatalogModel model, ModelVersion version) {
    if (model.versions().containsKey(version.version())) {
      versions.takeOut(model, version.version());
      model.remove(version.version());
    }
  }

  @Override
  public TritonConfig declared(ModelVersion version) {
    return models.known(version.model()).declared(version.version());
  }

  @Override
  public CompletableFuture<Void> load(String name, LoadOptions options) {
    return threads.operate(() -> loadNow(name, options));
  }

  private void loadNow(String name, LoadOptions options) {
    Optional<TritonConfig> config = options.config().map(json -> TritonConfig.ofJson(json, name));
    if (options.files().isEmpty()) {
      models.exclusively(
          name,
          model -> {
            load(model, name, repository.scan(name, config), null, options.within());
            model.standing(config);
          });
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
      models.exclusively(name, model -> load(model, name, scan, files, options.within()));
    } catch (RuntimeException | Error e) {
      carried.closeUnlessKept(name, files);
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
   * @param files where its files lie, if they came with the load; kept until the next one that has
   *     brought something into service
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
      throw CatalogModels.unknown(name);
    }
    Outcome outcome = update(model, found, problems);
    if (outcome.cameIn || outcome.refusal.isEmpty()) {
      carried.keep(name, files);
    }
    if (threads.isStopping()) {
      throw CatalogThreads.stopped();
    }
    outcome.orThrow();
    ServedModel served = model.resolve("");
    devices.wish(served.version(), within, served.priority(null));
  }

  @Override
  public CompletableFuture<Void> reload(String name) {
    return threads.runImport(() -> models.exclusively(name, model -> reloadNow(model, name)));
  }

  private void reloadNow(CatalogModel model, String name) {
    if (threads.isStopping() || carried.has(name)) {
      return;
    }
    RepositoryScan scan = repository.scan(name, model.standing());
    boolean isThere = !scan.registered().isEmpty() || !scan.problems().isEmpty();
    if (isThere && model.isUnloaded()) {
      return;
    }
    List<String> problems = scan.problems().stream().map(Problem::reason).toList();
    update(model, scan.registered(), problems).orThrow();
    if (model.versions().isEmpty()) {
      model.problem(""); // Its folder is gone, so there is nothing to tell of it.
    }
  }

  /**
   * The outcome of following a scan.
   *
   * @param cameIn whether any version is served as the scan found it
   * @param refusal why something is refused, nothing is taken out of service then
   */
  private record Outcome(boolean cameIn, Optional<StatusException> refusal) {
    void orThrow() {
      if (refusal.isPresent()) {
        throw refusal.get();
      }
    }
  }

  private Outcome update(CatalogModel model, List<Registered> found, List<String> problems) {
    model.problem(joined(problems));
    IgnoredKeys.warn(found);
    List<StatusException> refused = new ArrayList<>();
    for (Registered version : found) {
      versions.bringIn(model, version, devices::register).ifPresent(refused::add);
    }
    boolean cameIn = refused.size() < found.size();
    if (!problems.isEmpty()) {
      StatusException wrong = new StatusException(Status.INVALID_ARGUMENT, joined(problems));
      return new Outcome(cameIn, Optional.of(wrong));
    }
    if (!refused.isEmpty()) {
      return new Outcome(cameIn, Optional.of(refused.getFirst()));
    }
    List<Long> gone =
        model.versions().keySet().stream()
            .filter(v -> found.stream().noneMatch(r -> r.version().version() == v))
            .toList();
    for (long version : gone) {
      versions.takeOut(model, version);
      model.remove(version);
    }
    if (model.versions().isEmpty()) {
      model.problem("its folder is no longer in the repository");
    }
    return new Outcome(cameIn, Optional.empty());
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
    if (scanned) {
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
