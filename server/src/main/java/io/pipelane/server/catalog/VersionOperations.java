package io.pipelane.server.catalog;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.importing.Importer;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.server.catalog.VersionEntry.Importing;
import io.pipelane.server.catalog.VersionEntry.Leaving;
import io.pipelane.server.catalog.VersionEntry.Ready;
import io.pipelane.server.catalog.VersionEntry.Refused;
import io.pipelane.server.catalog.VersionEntry.Unloaded;
import io.pipelane.server.device.ServingDevices;
import java.lang.System.Logger.Level;
import java.util.Optional;
import java.util.function.BiConsumer;

/**
 * Imports versions, puts them in service and takes them out. Each method is called under the {@link
 * CatalogModel#operation} lock of the model that it is given.
 */
final class VersionOperations {
  private static final System.Logger LOG = System.getLogger(RepositoryCatalog.class.getName());

  private final Importer importer;
  private final ServingDevices devices;
  private final CatalogThreads threads;

  /**
   * Nothing is in service yet.
   *
   * @param threads say when nothing more is begun
   */
  VersionOperations(Importer importer, ServingDevices devices, CatalogThreads threads) {
    this.importer = importer;
    this.devices = devices;
    this.threads = threads;
  }

  /** How a version becomes known to the devices: with its session, or without. */
  interface Registration extends BiConsumer<ImportedModel, ModelOptions> {}

  /** Imports a version, or finds that it has been, and puts it in service, unless it is refused. */
  Optional<StatusException> bringIn(
      CatalogModel model, Registered found, Registration registration) {
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
        serve(model, next, registration);
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

  private void serve(CatalogModel model, Ready next, Registration registration) {
    ModelVersion version = next.imported().version();
    if (next.options().warmUp()) {
      devices.register(next.imported(), next.options());
      warmUp(version);
    } else {
      registration.accept(next.imported(), next.options());
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
      serve(model, next, devices::register);
    } catch (RuntimeException | Error e) {
      LOG.log(
          Level.WARNING,
          "{0}: its new content is refused, so the old goes back in service: {1}",
          version,
          e.getMessage());
      serve(model, current, devices::register);
      throw e;
    }
  }

  /** Builds the session of a version in service; one that nothing can be built of is refused. */
  void buildAhead(CatalogModel model, ModelVersion version) {
    if (threads.isStopping() || !(model.versions().get(version.version()) instanceof Ready)) {
      return;
    }
    try {
      boolean hadRoom = devices.buildAhead(version);
      LOG.log(Level.DEBUG, "{0}: {1}", version, hadRoom ? "built ahead" : "no room ahead");
    } catch (StatusException e) {
      notBuilt(model, version, e);
    }
  }

  private void notBuilt(CatalogModel model, ModelVersion version, StatusException cause) {
    switch (cause.status()) {
      case INVALID_ARGUMENT, INTERNAL, UNIMPLEMENTED -> {
        takeOut(model, version);
        Optional<StatusException> _ = refuse(model, version, cause);
      }
      case CANCELLED, NOT_FOUND -> LOG.log(Level.DEBUG, "{0} was not built", version);
      default -> LOG.log(Level.WARNING, "{0} was not built: {1}", version, cause.getMessage());
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

  /** Takes a version out of service; blocks until its runs have ended. */
  void takeOut(CatalogModel model, ModelVersion version) {
    if (model.versions().get(version.version()) instanceof Ready) {
      model.put(version.version(), new Leaving());
      devices.deregister(version);
    }
    model.put(version.version(), new Unloaded());
  }
}
