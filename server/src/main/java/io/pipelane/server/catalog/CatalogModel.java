package io.pipelane.server.catalog;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import io.pipelane.modelstore.repository.TritonConfig;
import io.pipelane.modelstore.repository.VersionChoice;
import io.pipelane.server.catalog.VersionEntry.Importing;
import io.pipelane.server.catalog.VersionEntry.Ready;
import io.pipelane.server.catalog.VersionEntry.Refused;
import io.pipelane.server.catalog.VersionEntry.Unloaded;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One model of the catalogue with all its versions.
 *
 * <p>Readers see an immutable snapshot; it is replaced by whoever holds {@link #operation}, which
 * orders imports, loads and unloads of the model.
 */
final class CatalogModel {
  private static final Duration RETRY_AFTER = Duration.ofSeconds(2);
  private static final Pattern VERSION = Pattern.compile("[1-9][0-9]{0,17}");

  /** Held during every operation that changes the model, blocking ones included. */
  final ReentrantLock operation = new ReentrantLock();

  /** Told once {@link #operation} is free: the work that has left it to others. */
  final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();

  private final String name;
  private final Function<ModelVersion, List<String>> runNotes;
  private final Function<ModelVersion, Optional<String>> quarantine;
  private Optional<TritonConfig> standing = Optional.empty(); // guarded by operation
  private volatile Snapshot snapshot;

  /**
   * A model without versions.
   *
   * @param runNotes what there is to know of how a version in service runs at present
   * @param choice what its owner has chosen of its versions
   * @param quarantine why a version in service is not run at present, if it is not
   */
  CatalogModel(
      String name,
      VersionChoice choice,
      Function<ModelVersion, List<String>> runNotes,
      Function<ModelVersion, Optional<String>> quarantine) {
    this.name = name;
    this.runNotes = runNotes;
    this.quarantine = quarantine;
    this.snapshot = Snapshot.of("", new TreeMap<>(), choice);
  }

  /**
   * The state of a model at one moment.
   *
   * @param problem why the model has no usable version; empty when that is not so
   * @param served the READY versions, as the front end sees them
   * @param newest the highest of them; null when there is none
   * @param choice what its owner has chosen of its versions
   */
  private record Snapshot(
      String problem,
      NavigableMap<Long, VersionEntry> versions,
      Map<Long, ServedModel> served,
      @Nullable ServedModel newest,
      VersionChoice choice) {

    static Snapshot of(
        String problem, NavigableMap<Long, VersionEntry> versions, VersionChoice choice) {
      List<Long> ready =
          versions.entrySet().stream()
              .filter(entry -> entry.getValue() instanceof Ready)
              .map(Map.Entry::getKey)
              .toList();
      Map<Long, ServedModel> served = new HashMap<>();
      versions.forEach(
          (version, entry) -> {
            if (entry instanceof Ready inService) {
              served.put(version, inService.served(ready));
            }
          });
      ServedModel newest = ready.isEmpty() ? null : served.get(ready.getLast());
      return new Snapshot(problem, versions, Map.copyOf(served), newest, choice);
    }

    boolean isEmpty() {
      return versions.isEmpty() && problem.isEmpty();
    }
  }

  void put(long version, VersionEntry entry) {
    NavigableMap<Long, VersionEntry> versions = new TreeMap<>(snapshot.versions);
    versions.put(version, entry);
    snapshot = Snapshot.of(snapshot.problem, versions, snapshot.choice);
  }

  void remove(long version) {
    NavigableMap<Long, VersionEntry> versions = new TreeMap<>(snapshot.versions);
    versions.remove(version);
    snapshot = Snapshot.of(snapshot.problem, versions, snapshot.choice);
  }

  void problem(String reason) {
    snapshot = Snapshot.of(reason, snapshot.versions, snapshot.choice);
  }

  VersionChoice choice() {
    return snapshot.choice;
  }

  void choose(VersionChoice choice) {
    snapshot = Snapshot.of(snapshot.problem, snapshot.versions, choice);
  }

  NavigableMap<Long, VersionEntry> versions() {
    return snapshot.versions;
  }

  /** Whether there is nothing to say of it. */
  boolean isEmpty() {
    return snapshot.isEmpty();
  }

  /** What stands for the configuration in its folder, since it came with the last load. */
  Optional<TritonConfig> standing() {
    return standing;
  }

  void standing(Optional<TritonConfig> config) {
    standing = config;
  }

  /** The versions that are READY. */
  Set<Long> ready() {
    return snapshot.served.keySet();
  }

  /** Which of some found versions are READY with the content that was found. */
  Set<Long> servedOf(List<Registered> found) {
    return found.stream()
        .map(registered -> registered.version().version())
        .filter(
            version ->
                snapshot.versions.get(version) instanceof Ready ready && ready.refusal().isEmpty())
        .collect(Collectors.toSet());
  }

  /** Whether somebody has had all of its versions unloaded, and none loaded since. */
  boolean isUnloaded() {
    return !snapshot.versions.isEmpty()
        && snapshot.versions.values().stream().allMatch(entry -> entry instanceof Unloaded);
  }

  Stream<ModelCatalog.Entry> index() {
    Snapshot now = snapshot;
    Stream<ModelCatalog.Entry> versions =
        now.versions.entrySet().stream()
            .map(entry -> indexed(entry.getKey(), entry.getValue(), now.choice));
    return now.problem.isEmpty()
        ? versions
        : Stream.concat(
            Stream.of(
                new ModelCatalog.Entry(name, "", ModelCatalog.State.UNAVAILABLE, now.problem)),
            versions);
  }

  private ModelCatalog.Entry indexed(long version, VersionEntry entry, VersionChoice choice) {
    List<String> notes = new ArrayList<>(choice.uses(version));
    notes.addAll(entry.notes());
    Optional<String> refusal = Optional.empty();
    if (entry instanceof Ready ready) {
      notes.addAll(runNotes.apply(ready.imported().version()));
      refusal = quarantine.apply(ready.imported().version());
    }
    return new ModelCatalog.Entry(
        name,
        Long.toString(version),
        refusal.isPresent() ? ModelCatalog.State.UNAVAILABLE : entry.state(),
        refusal.orElse(entry.reason()),
        notes);
  }

  /** See {@link ModelCatalog#resolve}. */
  ServedModel resolve(String asked) {
    Snapshot now = snapshot;
    if (now.isEmpty()) { // It is on its way in or out.
      throw CatalogModels.unknown(name);
    }
    String wanted = asked.isEmpty() ? now.choice.standard() : asked;
    if (wanted.isEmpty()) {
      if (now.newest == null) {
        throw unanswerable(now);
      }
      return trusted(now.newest);
    }
    return resolve(now, wanted);
  }

  /** See {@link ModelCatalog#knows}. */
  boolean knows(String asked) {
    Snapshot now = snapshot;
    Long labelled = now.choice.labels().get(asked);
    String wanted = labelled == null ? asked : labelled.toString();
    return wanted.isEmpty()
        ? !now.isEmpty()
        : now.versions.keySet().stream().anyMatch(version -> wanted.equals(version.toString()));
  }

  /** What whoever resolves a version waits for, if it is being imported; the highest first. */
  List<ModelVersion> importing(String asked) {
    Snapshot now = snapshot;
    String wanted = asked.isEmpty() ? now.choice.standard() : asked;
    Long labelled = now.choice.labels().get(wanted);
    String version = labelled == null ? wanted : labelled.toString();
    return now.versions.descendingMap().entrySet().stream()
        .filter(entry -> entry.getValue() instanceof Importing)
        .map(Map.Entry::getKey)
        .filter(number -> version.isEmpty() || version.equals(number.toString()))
        .map(number -> new ModelVersion(name, number))
        .toList();
  }

  private ServedModel resolve(Snapshot now, String asked) {
    Long labelled = now.choice.labels().get(asked);
    long version = labelled == null ? number(now, asked) : labelled;
    ServedModel served = now.served.get(version);
    if (served != null) {
      return trusted(served);
    }
    VersionEntry entry = now.versions.get(version);
    if (entry == null) {
      throw new StatusException(
          Status.NOT_FOUND,
          "model \"" + name + "\" has no version " + version + "; it has " + now.versions.keySet());
    }
    throw unanswerable(new ModelVersion(name, version).toString(), entry);
  }

  private long number(Snapshot now, String version) {
    if (!VERSION.matcher(version).matches()) {
      throw new StatusException(
          Status.NOT_FOUND,
          "version \"%s\" is neither a positive integer of at most 18 digits nor a label of model"
                  .formatted(version)
              + " \"%s\", which has the labels %s".formatted(name, sortedLabels(now)));
    }
    return Long.parseLong(version);
  }

  private static List<String> sortedLabels(Snapshot now) {
    return now.choice.labels().keySet().stream().sorted().toList();
  }

  /** What the owner of a version in service has written for Triton. */
  TritonConfig declared(long version) {
    return snapshot.versions.get(version) instanceof Ready ready
        ? ready.declared()
        : TritonConfig.NONE;
  }

  private ServedModel trusted(ServedModel served) {
    Optional<String> refusal = quarantine.apply(served.version());
    if (refusal.isPresent()) {
      throw StatusException.unavailable(
          "model %s cannot be served now: %s".formatted(served.version(), refusal.get()),
          RETRY_AFTER);
    }
    return served;
  }

  private StatusException unanswerable(Snapshot now) {
    return now.versions.values().stream()
        .filter(entry -> entry instanceof Importing)
        .findFirst()
        .or(() -> now.versions.descendingMap().values().stream().findFirst())
        .map(entry -> unanswerable("\"" + name + "\"", entry))
        .orElseGet(
            () ->
                new StatusException(
                    Status.NOT_FOUND, "model \"" + name + "\" cannot be served: " + now.problem));
  }

  private static StatusException unanswerable(String what, VersionEntry entry) {
    String message = "model " + what + " cannot be served now: " + entry.reason();
    return switch (entry) {
      case Importing importing -> StatusException.unavailable(message, RETRY_AFTER);
      case Refused(StatusException cause) when cause.status() == Status.INSUFFICIENT_MEMORY ->
          new StatusException(Status.INSUFFICIENT_MEMORY, message, cause);
      case Ready ready -> StatusException.unavailable(message, RETRY_AFTER);
      case VersionEntry.Leaving leaving -> new StatusException(Status.NOT_FOUND, message);
      case VersionEntry.Unloaded unloaded -> new StatusException(Status.NOT_FOUND, message);
      case Refused refused -> new StatusException(Status.NOT_FOUND, message);
    };
  }
}
