package io.pipelane.server.catalog;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.modelstore.importing.Importer.EarlierRefusal;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.modelstore.repository.VersionChoice;
import io.pipelane.server.catalog.VersionEntry.Importing;
import io.pipelane.server.catalog.VersionEntry.Leaving;
import io.pipelane.server.catalog.VersionEntry.Ready;
import io.pipelane.server.catalog.VersionEntry.Refused;
import io.pipelane.server.catalog.VersionEntry.Unloaded;
import io.pipelane.server.device.ServingDevices;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * The way of versions into service, from one content to the next, and out of it.
 *
 * <p>Methods block, and are called under the model's {@code operation} lock.
 */
final class VersionLifecycle {
  private static final System.Logger LOG = System.getLogger(VersionLifecycle.class.getName());

  private final Importer importer;
  private final ServingDevices devices;
  private final Consumer<ServedModel> warmUps;
  private final CatalogThreads threads;

  VersionLifecycle(
      Importer importer,
      ServingDevices devices,
      Consumer<ServedModel> warmUps,
      CatalogThreads threads) {
    this.importer = importer;
    this.devices = devices;
    this.warmUps = warmUps;
    this.threads = threads;
  }

  /** The way for a version to become known to the devices: with its session, or without. */
  interface Registration extends BiConsumer<ImportedModel, ModelOptions> {}

  /**
   * Imports a version, or finds that it has been, and puts it in service, unless it is refused. One
   * that is in service answers until its new content can, and goes on where that is refused.
   *
   * @param earlier what it is worth that an earlier import of the same content was refused
   */
  Optional<StatusException> bringIn(
      CatalogModel model, Registered found, Registration registration, EarlierRefusal earlier) {
    ModelVersion version = found.version();
    VersionEntry before = model.versions().get(version.version());
    try {
      if (threads.isStopping()) {
        throw StatusException.shuttingDown();
      }
      if (!(before instanceof Ready)) {
        model.put(version.version(), new Importing());
      }
      ImportedModel imported =
          importer
              .importModel(found.modelFile(), version, found.declared().shapes(), earlier)
              .withBuckets(found.options().buckets())
              .ofTenant(found.options().tenant());
      found.declared().check(imported.plan().inputs(), imported.plan().outputs());
      if (before instanceof Ready current) {
        update(model, current, imported, found);
      } else {
        serve(model, new Ready(imported, found.options(), found.declared()), registration);
      }
      return Optional.empty();
    } catch (StatusException e) {
      return refuse(model, version, e);
    } catch (RuntimeException | Error e) {
      return refuse(
          model, version, new StatusException(Status.INTERNAL, "importing it failed: " + e, e));
    }
  }

  /** Whether bringing a version in begins with a process that imports it. */
  boolean isNew(Registered found) {
    return !importer.knows(found.modelFile(), found.declared().shapes());
  }

  /** Its options may have changed, its content too; other state is kept by another edition. */
  private void update(CatalogModel model, Ready current, ImportedModel imported, Registered found) {
    ModelVersion identity = current.imported().version();
    ImportedModel same = imported.as(identity);
    boolean keepsTheSame = current.options().state().equals(found.options().state());
    if (keepsTheSame && current.imported().equals(same)) {
      devices.trust(identity);
      devices.agree(same, found.options());
      model.put(identity.version(), new Ready(same, found.options(), found.declared()));
    } else {
      ImportedModel edition = imported.as(identity.nextEdition());
      replace(model, current, new Ready(edition, found.options(), found.declared()));
    }
  }

  /**
   * Sequences that run go on with the content that they began with, where clients can tell the two
   * apart by their answers alone.
   */
  private void replace(CatalogModel model, Ready current, Ready next) {
    ModelVersion before = current.imported().version();
    boolean goesOn = current.keepsStateAs(next);
    register(next, devices::register);
    if (goesOn) {
      devices.keepForSequences(before, next.imported().version());
    }
    answer(model, next);
    try {
      if (goesOn) {
        devices.deregisterEarlier(before);
      } else {
        devices.deregister(before);
      }
    } catch (RuntimeException e) { // The next one serves whatever is left of those before it.
      LOG.log(Level.WARNING, "what came before " + next.imported().version() + " has not left", e);
    }
  }

  private void serve(CatalogModel model, Ready next, Registration registration) {
    register(next, registration);
    answer(model, next);
  }

  private void register(Ready next, Registration registration) {
    if (next.options().warmUp()) {
      devices.register(next.imported(), next.options().withoutQueueTimeout());
      warmUp(next);
    } else {
      registration.accept(next.imported(), next.options());
    }
  }

  private void answer(CatalogModel model, Ready next) {
    ModelVersion version = next.imported().version();
    devices.answers(version);
    model.put(version.version(), next);
    LOG.log(Level.INFO, "{0} is in service", version);
  }

  /**
   * Makes a version resident, and has it run what its owner has declared; one that cannot is not
   * left registered.
   */
  private void warmUp(Ready next) {
    ModelVersion version = next.imported().version();
    try {
      devices.warmUp(version);
      warmUps.accept(next.served(List.of(version.version()))); // Those wait as long as it takes.
      devices.agree(next.imported(), next.options());
      devices.forgetUses(version, next.options().priority());
    } catch (RuntimeException | Error e) {
      devices.deregister(version);
      throw e;
    }
  }

  /** Builds the session of a version in service; one that nothing can be built of is refused. */
  void buildAhead(CatalogModel model, ModelVersion version) {
    if (threads.isStopping()
        || !(model.versions().get(version.version()) instanceof Ready current)) {
      return;
    }
    try {
      boolean hadRoom = devices.buildAhead(current.imported().version());
      LOG.log(Level.DEBUG, "{0}: {1}", version, hadRoom ? "built ahead" : "no room ahead");
    } catch (StatusException e) {
      notBuilt(model, version, e);
    }
  }

  private void notBuilt(CatalogModel model, ModelVersion version, StatusException cause) {
    switch (cause.status()) {
      case INVALID_ARGUMENT, INTERNAL, UNIMPLEMENTED -> {
        takeOut(model, version.version());
        Optional<StatusException> _ = refuse(model, version, cause);
      }
      case CANCELLED, NOT_FOUND -> LOG.log(Level.DEBUG, "{0} was not built", version);
      default -> LOG.log(Level.WARNING, "{0} was not built: {1}", version, cause.getMessage());
    }
  }

  /** A version that is in service stays so when what would replace it is refused. */
  private Optional<StatusException> refuse(
      CatalogModel model, ModelVersion version, StatusException cause) {
    boolean isNobodysFault = cause.status() == Status.CANCELLED || threads.isStopping();
    Level level = isNobodysFault ? Level.DEBUG : Level.WARNING;
    String named = version + ": "; // The importer's words begin so.
    String message = String.valueOf(cause.getMessage());
    StatusException reason =
        message.startsWith(named) ? cause.saying(message.substring(named.length())) : cause;
    LOG.log(level, "{0} is refused: {1}", version, reason.getMessage());
    VersionEntry entry =
        model.versions().get(version.version()) instanceof Ready current
            ? current.refusing(reason)
            : new Refused(reason);
    model.put(version.version(), entry);
    return Optional.of(cause);
  }

  /**
   * Has what is chosen served: what is new comes in first, then the choice holds, then what is not
   * chosen leaves and is forgotten. What is not in service, and the choice says nothing new of,
   * stays so.
   *
   * @param found where the versions are that may be new
   * @param wanted the versions that are to be served
   * @param keep keeps the choice over restarts
   * @throws StatusException when a version is refused, or what the choice names is not READY;
   *     nothing has changed then
   */
  void choose(
      CatalogModel model,
      VersionChoice next,
      List<Registered> found,
      Set<Long> wanted,
      Runnable keep) {
    Set<Long> before = Set.copyOf(model.versions().keySet());
    Set<Long> served = Set.copyOf(model.ready());
    try {
      if (wanted.isEmpty()) {
        throw new StatusException(
            Status.INVALID_ARGUMENT, "none of its versions would be served; it has " + before);
      }
      VersionChoice news = changed(next, model.choice(), served);
      boolean isOfAll = !next.served().equals(model.choice().served());
      for (Registered version : found) {
        long number = version.version().version();
        boolean isNamed = isOfAll || !news.uses(number).isEmpty();
        if (isNamed && !(model.versions().get(number) instanceof Ready)) {
          bringIn(model, version, devices::register, EarlierRefusal.IS_TRIED_AGAIN)
              .ifPresent(
                  refused -> {
                    throw notChosen(refused);
                  });
        }
      }
      Set<Long> ready = new TreeSet<>(model.ready());
      ready.retainAll(wanted);
      if (ready.isEmpty()) {
        throw new StatusException(
            Status.INVALID_ARGUMENT, "none of versions " + wanted + " is in service");
      }
      requireReady(news, ready);
      keep.run();
    } catch (RuntimeException | Error e) {
      dropAllBut(model, before);
      throw e;
    }
    model.choose(next);
    dropAllBut(model, wanted);
  }

  private static StatusException notChosen(StatusException refused) {
    return switch (refused.status()) {
      case UNAVAILABLE, CANCELLED -> refused; // It is not the version's fault.
      default -> refused.saying(refused.getMessage() + "; delete it, or choose without it");
    };
  }

  private void dropAllBut(CatalogModel model, Set<Long> kept) {
    for (long version : List.copyOf(model.versions().keySet())) {
      if (!kept.contains(version)) {
        takeOut(model, version);
        model.remove(version);
      }
    }
  }

  /**
   * A choice without what the choice before it has said already and what did not hold then: that
   * stops nobody from choosing something else.
   */
  private static VersionChoice changed(
      VersionChoice next, VersionChoice earlier, Set<Long> served) {
    Map<String, Long> labels = new TreeMap<>(next.labels());
    labels
        .entrySet()
        .removeIf(
            label ->
                label.getValue().equals(earlier.labels().get(label.getKey()))
                    && !served.contains(label.getValue()));
    boolean dangled =
        next.standard().equals(earlier.standard())
            && !isAnswered(earlier.standard(), earlier.labels(), served);
    return new VersionChoice(next.served(), dangled ? "" : next.standard(), labels);
  }

  private static boolean isAnswered(String standard, Map<String, Long> labels, Set<Long> versions) {
    Long labelled = labels.get(standard);
    return labelled == null
        ? versions.stream().anyMatch(version -> standard.equals(Long.toString(version)))
        : versions.contains(labelled);
  }

  private static void requireReady(VersionChoice choice, Set<Long> ready) {
    choice
        .labels()
        .forEach(
            (label, version) -> {
              if (!ready.contains(version)) {
                throw new StatusException(
                    Status.INVALID_ARGUMENT,
                    "label \"%s\" would stand for version %d, which is not among those in service, %s"
                        .formatted(label, version, new TreeSet<>(ready)));
              }
            });
    String standard = choice.standard();
    boolean answers =
        standard.isEmpty()
            || choice.labels().containsKey(standard)
            || ready.stream().anyMatch(version -> standard.equals(Long.toString(version)));
    if (!answers) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          "default \"%s\" is neither a label nor a version in service; there are %s and %s"
              .formatted(standard, new TreeSet<>(choice.labels().keySet()), new TreeSet<>(ready)));
    }
  }

  /** Has a version leave, if it is in service; it stays in the index. */
  void takeOut(CatalogModel model, long version) {
    if (model.versions().get(version) instanceof Ready current) {
      model.put(version, new Leaving());
      devices.deregister(current.imported().version());
    }
    model.put(version, new Unloaded());
  }
}
