package io.pipelane.server.catalog;

import static java.util.stream.Collectors.joining;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ModelName;
import io.pipelane.modelstore.importing.Importer.EarlierRefusal;
import io.pipelane.modelstore.repository.CarriedModel;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.modelstore.repository.RepositoryScan;
import io.pipelane.modelstore.repository.RepositoryScan.Problem;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.modelstore.repository.RepositoryWriter;
import io.pipelane.modelstore.repository.TritonConfig;
import io.pipelane.server.device.ServingDevices;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The loads of a catalogue's models: what a scan says of one is done with it. Methods block. */
final class CatalogLoads {
  private static final System.Logger LOG = System.getLogger(CatalogLoads.class.getName());
  private static final String NO_FILES =
      "files that come with a load are not taken here; start the server with repository.upload,"
          + " or put them into the repository and load the model by name";

  private final Repository repository;
  private final Optional<RepositoryWriter> writer;
  private final ServingDevices devices;
  private final CatalogThreads threads;
  private final VersionLifecycle versions;
  private final CatalogModels models;
  private final CarriedFiles carried;

  CatalogLoads(
      Repository repository,
      Optional<RepositoryWriter> writer,
      ServingDevices devices,
      CatalogThreads threads,
      VersionLifecycle versions,
      CatalogModels models,
      CarriedFiles carried) {
    this.repository = repository;
    this.writer = writer;
    this.devices = devices;
    this.threads = threads;
    this.versions = versions;
    this.models = models;
    this.carried = carried;
  }

  /**
   * Loads what the repository has of a model, or the files that come with the load.
   *
   * @throws StatusException why something is refused
   */
  void load(String name, LoadOptions options) {
    Optional<TritonConfig> config = options.config().map(json -> TritonConfig.ofJson(json, name));
    if (options.files().isEmpty()) {
      models.exclusively(
          name,
          model -> {
            follow(model, name, repository.scan(name, config), null, options.within());
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
      models.exclusively(name, model -> follow(model, name, scan, files, options.within()));
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
  private void follow(
      CatalogModel model,
      String name,
      RepositoryScan scan,
      @Nullable CarriedModel files,
      Optional<Duration> within) {
    List<Registered> found = scan.registered();
    List<String> problems = scan.problems().stream().map(Problem::reason).toList();
    if (found.isEmpty() && problems.isEmpty() && model.isEmpty()) {
      ModelName.require(name);
      throw CatalogModels.unknown(name);
    }
    Outcome outcome = update(model, found, problems, EarlierRefusal.IS_TRIED_AGAIN);
    if (outcome.cameIn || outcome.refusal.isEmpty()) {
      if (files == null) {
        carried.drop(name);
      } else {
        carried.keep(name, files, model.servedOf(found));
      }
    }
    if (threads.isStopping()) {
      throw StatusException.shuttingDown();
    }
    outcome.orThrow();
    ServedModel served = model.resolve("");
    devices.wish(served.version(), within, served.priority(null));
  }

  /**
   * Follows the repository where it serves a model: not one that was unloaded, nor one whose files
   * came with its load.
   *
   * @throws StatusException why something is refused
   */
  void reload(String name) {
    if (!threads.isStopping()) { // Else it need not wait for the model.
      models.exclusively(name, model -> reload(model, name));
    }
  }

  private void reload(CatalogModel model, String name) {
    if (threads.isStopping() || carried.has(name)) {
      return;
    }
    RepositoryScan scan = repository.scan(name, model.standing());
    boolean isThere = !scan.registered().isEmpty() || !scan.problems().isEmpty();
    if (isThere && model.isUnloaded()) {
      return;
    }
    List<String> problems = scan.problems().stream().map(Problem::reason).toList();
    if (!problems.isEmpty()) {
      LOG.log(
          Level.WARNING,
          "what has changed of {0} is refused: {1}",
          name,
          String.join("; ", problems));
    }
    update(model, scan.registered(), problems, EarlierRefusal.HOLDS).orThrow();
    if (model.versions().isEmpty()) {
      model.problem(""); // Its folder is gone, so there is nothing to tell of it.
    }
  }

  /**
   * What came of following a scan.
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

  private Outcome update(
      CatalogModel model, List<Registered> found, List<String> problems, EarlierRefusal earlier) {
    model.problem(String.join("; ", problems));
    IgnoredKeys.warn(found);
    List<StatusException> refused = new ArrayList<>();
    for (Registered version : found) {
      versions.bringIn(model, version, devices::register, earlier).ifPresent(refused::add);
    }
    boolean cameIn = refused.size() < found.size();
    if (!problems.isEmpty()) {
      StatusException wrong =
          new StatusException(Status.INVALID_ARGUMENT, String.join("; ", problems));
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
}
