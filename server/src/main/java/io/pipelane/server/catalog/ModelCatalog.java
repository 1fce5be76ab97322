package io.pipelane.server.catalog;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.IncomingVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.modelstore.repository.TritonConfig;
import io.pipelane.modelstore.repository.VersionChoice;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** The models a server answers for. Every method returns at once and is safe for any thread. */
public interface ModelCatalog {
  /** Whether the repository has been scanned; imports may still go on. */
  boolean isReady();

  /** Every known version, ordered by name and version. */
  List<Entry> index();

  /** The versions of the index, and whether each is READY. */
  default Map<ModelVersion, Boolean> versions() {
    Map<ModelVersion, Boolean> versions = new HashMap<>();
    for (Entry entry : index()) {
      entry
          .modelVersion()
          .ifPresent(version -> versions.put(version, entry.state() == State.READY));
    }
    return versions;
  }

  /**
   * The version that answers for a name.
   *
   * @param version a positive integer as text, or a label; empty where nobody has given one: that
   *     picks what its owner has chosen, or else the highest that is READY
   * @throws StatusException {@link Status#NOT_FOUND} for an unknown name, version or label and for
   *     one out of service (with the reason), {@link Status#UNAVAILABLE} with a time to retry while
   *     it is being imported, or may still be found by the scan
   */
  ServedModel resolve(String name, String version);

  /**
   * Whether what cannot be resolved is being imported.
   *
   * @param version as for {@link #resolve}
   */
  default boolean isImporting(String name, String version) {
    return false;
  }

  /**
   * Somebody waits for what cannot be resolved as it is being imported: its first import goes
   * before those of what nobody has asked for.
   *
   * @param version as for {@link #resolve}
   * @param by what is asked for by online work goes first
   */
  default void want(String name, String version, Priority by) {}

  /**
   * The version that answers for a name to somebody who {@link #want waits} for it.
   *
   * @param by as for {@link #want}
   * @throws StatusException as {@link #resolve}
   */
  default ServedModel resolveForRequest(String name, String version, Priority by) {
    try {
      return resolve(name, version);
    } catch (StatusException e) {
      if (e.status() == Status.UNAVAILABLE) {
        want(name, version, by);
      }
      throw e;
    }
  }

  /**
   * Whether a version is known, be it in service or not.
   *
   * @param version as for {@link #resolve}; empty for any
   */
  default boolean knows(String name, String version) {
    return index().stream()
        .filter(entry -> entry.name().equals(name))
        .anyMatch(entry -> version.isEmpty() || version.equals(entry.version()));
  }

  /**
   * What is chosen of a model's versions.
   *
   * @throws StatusException {@link Status#NOT_FOUND} for an unknown name, {@link
   *     Status#UNAVAILABLE} with a time to retry while it may still be found by the scan
   */
  default VersionChoice choice(String name) {
    ServedModel _ = resolve(name, "");
    return VersionChoice.NONE;
  }

  /**
   * Chooses otherwise, at one moment: what is to be served comes into service first, and what is
   * not leaves afterwards. It is kept over restarts.
   *
   * @param change makes the next choice of the one before; may throw a StatusException
   * @return completes when it holds; fails with a {@link StatusException}, and nothing has changed
   *     then
   */
  default CompletableFuture<Void> choose(String name, UnaryOperator<VersionChoice> change) {
    return CompletableFuture.failedFuture(
        new StatusException(Status.UNIMPLEMENTED, "versions are not chosen here"));
  }

  /** What the owner of a version has written for Triton. */
  default TritonConfig declared(ModelVersion version) {
    return TritonConfig.NONE;
  }

  /**
   * Puts a model's versions in service, importing what is new or changed on disk, and has the
   * weights of the one that answers brought onto its device soon, before they are asked for.
   *
   * @return completes when they are READY; fails with a {@link StatusException}
   */
  CompletableFuture<Void> load(String name, LoadOptions options);

  /**
   * The same for a caller who may not load everything.
   *
   * @param permission told each other model that the options have it ask, before anything is done;
   *     what it throws is thrown, or fails the load
   */
  default CompletableFuture<Void> load(
      String name, LoadOptions options, Consumer<String> permission) {
    return load(name, options);
  }

  /** The same with no haste, as the repository says. */
  default CompletableFuture<Void> load(String name) {
    return load(name, LoadOptions.NONE);
  }

  /**
   * Has a model be served as its folder says by now, if anybody wants it served: one that was
   * unloaded stays out, and what came with a load stands until the next one. What is refused
   * changes nothing, and the index says why.
   *
   * @return completes when that is so; fails with a {@link StatusException}
   */
  default CompletableFuture<Void> reload(String name) {
    return load(name);
  }

  /**
   * Takes a model out of service until it is loaded again; running requests finish.
   *
   * @return completes when it is out of service; fails with a {@link StatusException}
   */
  CompletableFuture<Void> unload(String name);

  /**
   * The same, and the models that came into service for it alone go along: those of an ensemble
   * that no other ensemble in service needs and that nobody has loaded by name. The next load of it
   * brings them back.
   *
   * @param permission told each that goes along before anything is done; what it throws is thrown
   */
  default CompletableFuture<Void> unloadWithDependents(String name, Consumer<String> permission) {
    return unload(name);
  }

  /**
   * The largest version that may be put into the repository.
   *
   * @throws StatusException {@link Status#UNIMPLEMENTED} where nothing may
   */
  default ByteSize uploadLimit() {
    throw notWritable();
  }

  /**
   * Begins to put a version into the repository; it is not in service before it is loaded. Blocks.
   *
   * @throws StatusException when it is there already, its name is none, or nothing may be put there
   */
  default IncomingVersion receive(String name, String version, IncomingVersion.Form form) {
    throw notWritable();
  }

  /**
   * Takes a version out of service and deletes it; running requests finish.
   *
   * @return completes when it is gone; fails with a {@link StatusException}
   */
  default CompletableFuture<Void> delete(String name, String version) {
    return CompletableFuture.failedFuture(notWritable());
  }

  /**
   * A model's options as the repository has them: its {@code pipelane.yaml}.
   *
   * @return fails with a {@link StatusException} where there are none
   * @throws StatusException where nothing may be put into the repository, or the name is none
   */
  default CompletableFuture<byte[]> options(String name) {
    throw optionsUnserved();
  }

  /**
   * Puts other options in their place, which count from the model's next load on.
   *
   * @param permission told each other model that they have it ask, before anything is done; what it
   *     throws fails the change
   * @return completes when they are there; fails with a {@link StatusException}, and those before
   *     have stayed then
   * @throws StatusException as {@link #options}
   */
  default CompletableFuture<Void> changeOptions(
      String name, byte[] yaml, Consumer<String> permission) {
    throw optionsUnserved();
  }

  private static StatusException notWritable() {
    return new StatusException(
        Status.UNIMPLEMENTED,
        "models are neither uploaded nor deleted here; start the server with repository.upload");
  }

  private static StatusException optionsUnserved() {
    return new StatusException(
        Status.UNIMPLEMENTED,
        "options of models are neither read nor written here; start the server with"
            + " repository.upload, or change pipelane.yaml in the model's folder");
  }

  /** The state of a version, named as in the protocol's repository extension. */
  enum State {
    LOADING,
    READY,
    UNLOADING,
    UNAVAILABLE
  }

  /**
   * One line of the index.
   *
   * @param version empty for a model without a usable version
   * @param reason why it is not READY; empty otherwise
   * @param notes what its owner should know of how it is served
   */
  record Entry(String name, String version, State state, String reason, List<String> notes) {
    public Entry {
      notes = List.copyOf(notes);
    }

    public Entry(String name, String version, State state, String reason) {
      this(name, version, state, reason, List.of());
    }

    /** The version that it is about; none for a model without a usable one. */
    public Optional<ModelVersion> modelVersion() {
      return version.isEmpty()
          ? Optional.empty()
          : Optional.of(new ModelVersion(name, Long.parseLong(version)));
    }
  }
}
