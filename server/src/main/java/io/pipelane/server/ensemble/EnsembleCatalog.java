package io.pipelane.server.ensemble;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.Ensemble;
import io.pipelane.modelstore.repository.Ensemble.Step;
import io.pipelane.modelstore.repository.IncomingVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.modelstore.repository.TritonConfig;
import io.pipelane.modelstore.repository.VersionChoice;
import io.pipelane.server.catalog.IgnoredKeys;
import io.pipelane.server.catalog.LoadOptions;
import io.pipelane.server.catalog.ModelCatalog;
import io.pipelane.server.catalog.ServedModel;
import io.pipelane.server.ensemble.EnsembleTable.Entered;
import io.pipelane.switcher.SpanningModels;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A catalogue with its repository's ensembles in it, each with one version. An ensemble is READY as
 * long as all its models are; nothing of it is kept, so that it follows them at once.
 */
public final class EnsembleCatalog implements ModelCatalog {
  private final ModelCatalog models;
  private final Repository repository;
  private final SpanningModels spanning;
  private final Executor loads;
  private final EnsembleTable ensembles;
  private final Set<String> loadedByName = ConcurrentHashMap.newKeySet();
  private final Set<String> takenAlong = ConcurrentHashMap.newKeySet();

  /** Models that gave way to ensembles of their names, and come back with their folders. */
  private final Set<String> displaced = ConcurrentHashMap.newKeySet();

  /**
   * Knows no ensembles yet.
   *
   * @param spanning told of those that span devices
   * @param loads reads files
   */
  public EnsembleCatalog(
      ModelCatalog models, Repository repository, SpanningModels spanning, Executor loads) {
    this.models = models;
    this.repository = repository;
    this.spanning = spanning;
    this.ensembles = new EnsembleTable(spanning);
    this.loads = loads;
  }

  /** Puts in service what the repository declares; blocks. */
  public void start() {
    repository.ensembles().forEach(ensembles::load);
  }

  /**
   * How an ensemble is to be run.
   *
   * @return empty for what is no ensemble
   * @throws StatusException as {@link #resolve}
   */
  Optional<EnsemblePlan> plan(String name) {
    Entered entered = ensembles.get(name);
    return entered == null ? Optional.empty() : Optional.of(plan(entered));
  }

  private EnsemblePlan plan(Entered entered) {
    String name = entered.ensemble().name();
    if (!entered.inService()) {
      throw new StatusException(
          Status.NOT_FOUND,
          "model \"%s\" cannot be served now: it was unloaded; load it to put it in service again"
              .formatted(name));
    }
    try {
      if (entered.refusal().isPresent()) {
        throw entered.refusal().get();
      }
      EnsemblePlan plan = EnsemblePlan.of(entered.ensemble(), entered.content(), this::member);
      if (plan.spansDevices()) {
        requireSwitchable(name, plan);
      }
      return plan;
    } catch (StatusException e) {
      throw e.saying("ensemble \"" + name + "\" cannot be served now: " + e.getMessage());
    }
  }

  private void requireSwitchable(String name, EnsemblePlan plan) {
    if (plan.served().keepsState()) {
      throw new StatusException(
          Status.UNIMPLEMENTED, "it names devices, and one of its models keeps state");
    }
    spanning.requireUsable(name, plan.models());
  }

  private ServedModel member(Step step) {
    if (ensembles.has(step.model())) {
      throw new StatusException(
          Status.NOT_FOUND, "model \"" + step.model() + "\" is an ensemble itself");
    }
    return models.resolve(step.model(), version(step));
  }

  private static String version(Step step) {
    return step.version().map(String::valueOf).orElse("");
  }

  @Override
  public boolean isReady() {
    return models.isReady();
  }

  @Override
  public List<Entry> index() {
    return Stream.concat(
            models.index().stream().filter(entry -> !ensembles.has(entry.name())),
            ensembles.all().stream().map(this::entry))
        .sorted(Comparator.comparing(Entry::name)) // Stable: versions stay in their order.
        .toList();
  }

  private Entry entry(Entered entered) {
    String name = entered.ensemble().name();
    String version = Long.toString(EnsemblePlan.VERSION);
    try {
      plan(entered);
    } catch (StatusException e) {
      return new Entry(name, version, State.UNAVAILABLE, String.valueOf(e.getMessage()));
    }
    String chain =
        entered.ensemble().steps().stream()
            .map(step -> text(step, spanning.deviceOf(name)))
            .collect(Collectors.joining(", "));
    List<String> ignored = IgnoredKeys.notes(entered.ensemble().declared());
    List<String> notes =
        Stream.concat(Stream.of("ensemble of " + chain, entered.news()), ignored.stream())
            .filter(note -> !note.isEmpty())
            .toList();
    return new Entry(name, version, State.READY, "", notes);
  }

  private static String text(Step step, Map<String, Integer> deviceOf) {
    return step.model()
        + step.device()
            .map(said -> text(said, deviceOf.getOrDefault(step.model(), said)))
            .orElse("");
  }

  private static String text(int said, int device) {
    String instead = said == device ? "" : ", as device " + said + " is lost";
    return " on device " + device + instead;
  }

  @Override
  public ServedModel resolve(String name, String version) {
    Entered entered = ensembles.get(name);
    if (entered == null) {
      return models.resolve(name, version);
    }
    if (!version.isEmpty() && !version.equals(Long.toString(EnsemblePlan.VERSION))) {
      throw new StatusException(
          Status.NOT_FOUND, "ensemble \"%s\" has version 1 alone".formatted(name));
    }
    return plan(entered).served();
  }

  @Override
  public boolean isImporting(String name, String version) {
    Entered entered = ensembles.get(name);
    return entered == null
        ? models.isImporting(name, version)
        : entered.ensemble().steps().stream()
            .anyMatch(step -> models.isImporting(step.model(), version(step)));
  }

  @Override
  public void want(String name, String version, Priority by) {
    Entered entered = ensembles.get(name);
    if (entered == null) {
      models.want(name, version, by);
    } else {
      entered.ensemble().steps().forEach(step -> models.want(step.model(), version(step), by));
    }
  }

  @Override
  public boolean knows(String name, String version) {
    return ensembles.has(name)
        ? version.isEmpty() || version.equals(Long.toString(EnsemblePlan.VERSION))
        : models.knows(name, version);
  }

  @Override
  public VersionChoice choice(String name) {
    return ensembles.has(name) ? VersionChoice.NONE : models.choice(name);
  }

  @Override
  public CompletableFuture<Void> choose(String name, UnaryOperator<VersionChoice> change) {
    return ensembles.has(name)
        ? CompletableFuture.failedFuture(
            new StatusException(
                Status.INVALID_ARGUMENT, "ensemble \"%s\" has version 1 alone".formatted(name)))
        : models.choose(name, change);
  }

  @Override
  public TritonConfig declared(ModelVersion version) {
    Entered entered = ensembles.get(version.model());
    return entered == null ? models.declared(version) : entered.ensemble().described();
  }

  @Override
  public CompletableFuture<Void> load(String name, LoadOptions options) {
    return load(name, options, _ -> {});
  }

  @Override
  public CompletableFuture<Void> load(
      String name, LoadOptions options, Consumer<String> permission) {
    return CompletableFuture.supplyAsync(
            () ->
                options
                    .config()
                    .map(json -> TritonConfig.ofJson(json, name))
                    .orElse(TritonConfig.NONE),
            loads)
        .thenComposeAsync(config -> load(name, options, config, permission), loads);
  }

  /**
   * Whoever brings an ensemble along chooses its models; the repository's are its owner's choice.
   */
  private CompletableFuture<Void> load(
      String name, LoadOptions options, TritonConfig config, Consumer<String> permission) {
    Optional<Ensemble> declared =
        config.asksForNothing() ? repository.ensemble(name) : repository.ensemble(name, config);
    if (declared.isEmpty() || !options.files().isEmpty()) {
      @Nullable Entered before = ensembles.get(name);
      return models
          .load(name, options)
          .whenCompleteAsync((_, error) -> leave(name, options, before, error), loads);
    }
    if (config.isEnsemble()) {
      declared.get().members().forEach(permission);
      ensembles.carry(declared.get());
    } else {
      ensembles.load(declared.get());
    }
    return takeOutOfModels(name).thenCompose(_ -> bringBack(declared.get()));
  }

  @Override
  public CompletableFuture<Void> reload(String name) {
    Entered entered = ensembles.get(name);
    if (entered != null && entered.carried()) {
      return CompletableFuture.completedFuture(null);
    }
    return CompletableFuture.supplyAsync(() -> declared(name), loads)
        .thenCompose(
            declared -> {
              if (declared.isEmpty()) {
                return followModel(name)
                    .whenComplete((_, error) -> tell(name, error))
                    .thenRunAsync(() -> ensembles.end(name, null), loads);
              }
              ensembles.follow(declared.get());
              return takeOutOfModels(name);
            });
  }

  /** Who unloaded a model that gave way was no owner, so its folder brings it back. */
  private CompletableFuture<Void> followModel(String name) {
    return displaced.contains(name)
        ? models
            .load(name, LoadOptions.NONE)
            .exceptionallyCompose(
                error ->
                    isNotFound(error)
                        ? CompletableFuture.completedFuture(null) // Its folder has gone.
                        : CompletableFuture.failedFuture(error))
            .thenRun(() -> displaced.remove(name))
        : models.reload(name);
  }

  private static @Nullable Throwable cause(@Nullable Throwable error) {
    return error instanceof CompletionException ? error.getCause() : error;
  }

  private static boolean isNotFound(@Nullable Throwable error) {
    return cause(error) instanceof StatusException known && known.status() == Status.NOT_FOUND;
  }

  /** What is no ensemble any more, and no model either, may be one whose file cannot be read. */
  private void tell(String name, @Nullable Throwable error) {
    if (cause(error) instanceof StatusException refusal) {
      boolean _ = ensembles.refuse(name, refusal);
    }
  }

  /** A declaration that has become wrong leaves the one before in force, if there is one. */
  private Optional<Ensemble> declared(String name) {
    try {
      return repository.ensemble(name);
    } catch (StatusException e) {
      if (ensembles.refuse(name, e)) {
        throw e;
      }
      return Optional.empty(); // The scan finds the same, and keeps it.
    }
  }

  /** The load of a model ends its name's ensemble, unless it is refused. */
  private void leave(
      String name, LoadOptions options, @Nullable Entered before, @Nullable Throwable refusal) {
    boolean nothingIsThere = options.config().isEmpty() && isNotFound(refusal);
    if (refusal == null) {
      loadedByName.add(name);
      takenAlong.remove(name);
      displaced.remove(name);
    }
    if (refusal == null || nothingIsThere) {
      ensembles.end(name, before);
    }
  }

  /** What was a model before it became an ensemble takes no memory any more. */
  private CompletableFuture<Void> takeOutOfModels(String name) {
    boolean wasModel = models.index().stream().anyMatch(entry -> entry.name().equals(name));
    if (!wasModel) {
      return CompletableFuture.completedFuture(null);
    }
    displaced.add(name);
    return models.unload(name);
  }

  /** Loads those models of an ensemble that an unload took along. */
  private CompletableFuture<Void> bringBack(Ensemble ensemble) {
    return CompletableFuture.allOf(
        ensemble
            .members()
            .filter(takenAlong::contains)
            .map(
                member ->
                    models.load(member, LoadOptions.NONE).thenRun(() -> takenAlong.remove(member)))
            .toArray(CompletableFuture<?>[]::new));
  }

  @Override
  public CompletableFuture<Void> unloadWithDependents(String name, Consumer<String> permission) {
    Entered entered = ensembles.get(name);
    if (entered == null) {
      return unload(name);
    }
    Set<String> kept = new HashSet<>(loadedByName);
    ensembles.all().stream()
        .filter(other -> other.inService() && !other.ensemble().name().equals(name))
        .flatMap(other -> other.ensemble().members())
        .forEach(kept::add);
    Set<String> known = models.index().stream().map(Entry::name).collect(Collectors.toSet());
    List<String> along =
        entered
            .ensemble()
            .members()
            .filter(member -> known.contains(member) && !kept.contains(member))
            .toList();
    along.forEach(permission);
    takenAlong.addAll(along);
    return unload(name)
        .thenCompose(
            _ ->
                CompletableFuture.allOf(
                    along.stream().map(models::unload).toArray(CompletableFuture<?>[]::new)));
  }

  @Override
  public CompletableFuture<Void> unload(String name) {
    boolean isEnsemble = ensembles.takeOutOfService(name);
    loadedByName.remove(name);
    displaced.remove(name);
    return isEnsemble
        ? CompletableFuture.runAsync(() -> ensembles.forgetUnlessInService(name), loads)
        : models.unload(name);
  }

  @Override
  public ByteSize uploadLimit() {
    return models.uploadLimit();
  }

  /** In the folder of an ensemble a version would lie, and never be served. */
  @Override
  public IncomingVersion receive(String name, String version, IncomingVersion.Form form) {
    ByteSize _ = models.uploadLimit(); // Where nothing may be uploaded that is what to say.
    if (repository.ensemble(name).isPresent()) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          ("\"%s\" is an ensemble, which has version 1 alone and no model of its own; upload version"
                  + " %s of one of its models, or under another name")
              .formatted(name, version));
    }
    return models.receive(name, version, form);
  }

  @Override
  public CompletableFuture<Void> delete(String name, String version) {
    return models.delete(name, version);
  }

  @Override
  public CompletableFuture<byte[]> options(String name) {
    return models.options(name);
  }

  @Override
  public CompletableFuture<Void> changeOptions(
      String name, byte[] yaml, Consumer<String> permission) {
    return models.changeOptions(name, yaml, permission);
  }
}
