package io.pipelane.server.catalog;

import static java.util.stream.Collectors.joining;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.importing.Importer.EarlierRefusal;
import io.pipelane.modelstore.repository.Repository;
import io.pipelane.modelstore.repository.RepositoryScan;
import io.pipelane.modelstore.repository.RepositoryScan.Problem;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.modelstore.repository.RepositoryWriter;
import io.pipelane.server.device.ServingDevices;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The deletions of versions, and what comes into service for them. Methods block. */
final class CatalogDeletions {
  private static final System.Logger LOG = System.getLogger(CatalogDeletions.class.getName());

  private final Repository repository;
  private final ServingDevices devices;
  private final VersionLifecycle versions;
  private final CatalogModels models;
  private final CarriedFiles carried;

  CatalogDeletions(
      Repository repository,
      ServingDevices devices,
      VersionLifecycle versions,
      CatalogModels models,
      CarriedFiles carried) {
    this.repository = repository;
    this.devices = devices;
    this.versions = versions;
    this.models = models;
    this.carried = carried;
  }

  /**
   * Deletes a version.
   *
   * @throws StatusException why it stays
   */
  void delete(RepositoryWriter from, ModelVersion version) {
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
            giveWay(model, version, Set.of());
          } else {
            Set<Long> named = named(model, version.model());
            from.delete(version, () -> giveWay(model, version, named));
          }
          if (model.versions().isEmpty()) {
            model.problem(problemOfFolder(version.model()));
          }
        });
  }

  /** What is wrong with a model's folder; nothing where it went with its last version. */
  private String problemOfFolder(String model) {
    try {
      return problemOf(repository.scan(model, Optional.empty()));
    } catch (StatusException e) {
      return String.valueOf(e.getMessage());
    }
  }

  private static String problemOf(RepositoryScan folder) {
    return folder.problems().stream().map(Problem::reason).collect(joining("; "));
  }

  /**
   * What comes in for a version that is deleted does so before that leaves, so that requests are
   * answered throughout.
   *
   * @param named which versions the policy named as yet
   */
  private void giveWay(CatalogModel model, ModelVersion deleted, Set<Long> named) {
    if (carried.has(deleted.model())) {
      giveWayOfLoad(model, deleted);
      return;
    }
    try {
      bringIn(model, following(model, deleted, named));
    } catch (StatusException e) { // The repository cannot be read; the version goes all the same.
      LOG.log(Level.WARNING, "nothing comes into service for {0}: {1}", deleted, e.getMessage());
    } finally {
      forget(model, deleted.version());
    }
  }

  /**
   * The versions that came with a load stand for the folder's as long as one of them answers. Then
   * the folder holds again, with what is wrong in it, and those that were refused go. Others go
   * where all that the folder has came in: a folder that is broken or away takes nothing out of
   * service. Of a model that was unloaded nothing comes in.
   */
  private void giveWayOfLoad(CatalogModel model, ModelVersion deleted) {
    boolean isUnloaded = model.isUnloaded();
    Set<Long> known = new TreeSet<>(model.versions().keySet());
    Set<Long> others = new TreeSet<>(known);
    if (!isUnloaded) {
      others.retainAll(model.ready());
      others.retainAll(carried.versions(deleted.model()));
    }
    others.remove(deleted.version());
    if (!others.isEmpty()) {
      forget(model, deleted.version());
      return;
    }
    String problem = "";
    boolean holds = false;
    try {
      if (!isUnloaded) {
        RepositoryScan folder = repository.scan(deleted.model(), Optional.empty());
        problem = problemOf(folder);
        bringIn(model, folder.registered());
        Set<Long> found =
            folder.registered().stream()
                .map(r -> r.version().version())
                .collect(Collectors.toSet());
        known.removeAll(found);
        holds = problem.isEmpty() && !found.isEmpty() && model.ready().containsAll(found);
      }
    } catch (StatusException e) { // The repository cannot be read; the version goes all the same.
      problem = String.valueOf(e.getMessage());
    } finally {
      forget(model, deleted.version());
      if (!holds) {
        known.removeAll(model.ready());
      }
      known.forEach(version -> forget(model, version));
      model.problem(problem);
      carried.drop(deleted.model());
      model.standing(Optional.empty());
    }
  }

  private void bringIn(CatalogModel model, List<Registered> found) {
    for (Registered next : found) {
      Optional<StatusException> _ =
          versions.bringIn(model, next, devices::register, EarlierRefusal.HOLDS);
    }
  }

  /** The versions that the policy names; those that are known of where it cannot be read. */
  private Set<Long> named(CatalogModel model, String name) {
    try {
      return repository.scan(name, model.standing()).registered().stream()
          .map(found -> found.version().version())
          .collect(Collectors.toSet());
    } catch (StatusException e) { // The deletion will say so.
      return Set.copyOf(model.versions().keySet());
    }
  }

  /**
   * The versions that the policy names without one that was in service: lower ones, as for a higher
   * one nobody has asked yet, which the next load does. While others are in service it is those
   * that the policy has not named before: an upload waits for its load.
   */
  private List<Registered> following(CatalogModel model, ModelVersion deleted, Set<Long> named) {
    String name = deleted.model();
    long number = deleted.version();
    if (!model.ready().contains(number)) {
      return List.of();
    }
    boolean wasAlone = model.ready().size() == 1;
    return repository.scan(name, model.standing()).registered().stream()
        .filter(next -> next.version().version() < number)
        .filter(next -> wasAlone || !named.contains(next.version().version()))
        .toList();
  }

  private void forget(CatalogModel model, long version) {
    if (model.versions().containsKey(version)) {
      versions.takeOut(model, version);
      model.remove(version);
    }
  }
}
