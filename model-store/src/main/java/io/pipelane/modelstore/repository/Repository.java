package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ModelName;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.RepositoryScan.Problem;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A folder of models in Triton's layout, {@code <model>/<version>/model.onnx}, or a single model's;
 * nothing is ever written to it here.
 */
public final class Repository {
  private static final Pattern VERSION = Pattern.compile("[1-9][0-9]{0,17}");
  private static final int MAXIMUM_ENTRIES = 100_000;

  /** The version of a single model's file that lies in no version's folder. */
  private static final long ONLY_VERSION = 1;

  private final Path root;
  private final Optional<ModelName> onlyModel;
  private final Function<String, VersionChoice> choices;

  /** A folder of models of whose versions nothing is chosen. */
  public Repository(Path root) {
    this(root, Optional.empty(), _ -> VersionChoice.NONE);
  }

  /**
   * A folder of models, or of one.
   *
   * @param onlyModel what the model is called whose folder it is; empty for a folder of models
   * @param choices what is chosen of a model's versions, by its name
   */
  public Repository(
      Path root, Optional<ModelName> onlyModel, Function<String, VersionChoice> choices) {
    this.root = root.toAbsolutePath();
    this.onlyModel = onlyModel;
    this.choices = choices;
  }

  /**
   * Looks at every model; one that cannot be registered does not keep others from it.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when there is no such folder, {@link
   *     Status#UNAVAILABLE} when it cannot be read
   */
  public RepositoryScan scan() {
    requireRoot();
    List<Registered> registered = new ArrayList<>();
    List<Problem> problems = new ArrayList<>();
    try {
      if (onlyModel.isPresent()) {
        String only = onlyModel.get().text();
        scan(only, root, Optional.empty(), choices.apply(only), registered, problems);
        return new RepositoryScan(registered, problems);
      }
      for (Path folder : list(root)) {
        if (Files.isDirectory(folder) && !name(folder).startsWith(".")) {
          VersionChoice choice = choices.apply(name(folder));
          scan(name(folder), folder, Optional.empty(), choice, registered, problems);
        }
      }
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "repository " + root + " cannot be read: " + e, e);
    }
    registered.sort((a, b) -> a.version().compareTo(b.version()));
    return new RepositoryScan(registered, problems);
  }

  private void requireRoot() {
    if (!Files.isDirectory(root)) {
      throw new StatusException(Status.NOT_FOUND, "there is no repository folder " + root);
    }
  }

  /**
   * Looks at one model alone; finds neither versions nor problems where there is no such model.
   *
   * @param config what stands for the configuration that lies in the model's folder
   * @throws StatusException as {@link #scan()}, but for what cannot be read of the model
   */
  public RepositoryScan scan(String model, Optional<TritonConfig> config) {
    return scan(model, config, choices.apply(model));
  }

  /**
   * The same.
   *
   * @param choice what stands for what has been chosen of the model's versions
   */
  public RepositoryScan scan(String model, Optional<TritonConfig> config, VersionChoice choice) {
    requireRoot();
    List<Registered> registered = new ArrayList<>();
    List<Problem> problems = new ArrayList<>();
    boolean only = onlyModel.isPresent();
    boolean isOne = only ? onlyModel.get().text().equals(model) : ModelName.isOne(model);
    Path folder = only || !isOne ? root : root.resolve(model);
    if (isOne && Files.isDirectory(folder)) {
      scan(model, folder, config, choice, registered, problems);
    }
    return new RepositoryScan(registered, problems);
  }

  /**
   * The ensembles that folders of models declare, all of those that are valid; {@link #scan} has
   * the problems of the others.
   *
   * @throws StatusException as {@link #scan}
   */
  public List<Ensemble> ensembles() {
    List<Ensemble> ensembles = new ArrayList<>();
    if (onlyModel.isPresent() || !Files.isDirectory(root)) {
      return ensembles;
    }
    try {
      for (Path folder : list(root)) {
        try {
          ensemble(name(folder)).ifPresent(ensembles::add);
        } catch (StatusException e) {
          // The scan finds the same.
        }
      }
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "repository " + root + " cannot be read: " + e, e);
    }
    return ensembles;
  }

  /**
   * The ensemble that a model's folder declares; empty where it declares none.
   *
   * @throws StatusException when what it declares is not valid
   */
  public Optional<Ensemble> ensemble(String model) {
    if (onlyModel.isPresent() || !ModelName.isOne(model)) {
      return Optional.empty();
    }
    try {
      return ensemble(root.resolve(model), model);
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "model \"" + model + "\" cannot be read: " + e, e);
    }
  }

  /**
   * The ensemble that a configuration declares which stands for the one in a model's folder; empty
   * where it declares none.
   *
   * @throws StatusException when what it declares is not valid
   */
  public Optional<Ensemble> ensemble(String model, TritonConfig config) {
    return onlyModel.isEmpty() && ModelName.isOne(model) && config.isEnsemble()
        ? Optional.of(TritonEnsemble.of(config, model))
        : Optional.empty();
  }

  private Optional<Ensemble> ensemble(Path folder, String model) throws IOException {
    Path ours = folder.resolve(ModelOptionsFile.NAME);
    Path tritons = folder.resolve(TritonConfigFile.NAME);
    requireInside(ours);
    requireInside(tritons);
    return Files.exists(ours) ? EnsembleFile.read(ours, model) : TritonEnsemble.in(tritons, model);
  }

  /**
   * What each model's folder looks like, ensembles' as well, by name: one that looks as before has
   * not changed. A folder that cannot be read just now has no look.
   *
   * @throws StatusException as {@link #scan()}
   */
  public Map<String, Optional<String>> stamps() {
    requireRoot();
    if (onlyModel.isPresent()) {
      return Map.of(onlyModel.get().text(), stamp(root));
    }
    Map<String, Optional<String>> stamps = new TreeMap<>();
    try {
      for (Path folder : list(root)) {
        if (Files.isDirectory(folder) && !name(folder).startsWith(".")) {
          stamps.put(name(folder), stamp(folder));
        }
      }
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "repository " + root + " cannot be read: " + e, e);
    }
    return stamps;
  }

  private static Optional<String> stamp(Path folder) {
    try {
      return Optional.of(FolderStamp.of(folder));
    } catch (IOException e) { // A file may have gone while it was looked at.
      return Optional.empty();
    }
  }

  private void scan(
      String model,
      Path folder,
      Optional<TritonConfig> config,
      VersionChoice choice,
      List<Registered> registered,
      List<Problem> problems) {
    try {
      if (!ModelName.isOne(model)) {
        throw new StatusException(Status.INVALID_ARGUMENT, "model names have " + ModelName.FORM);
      }
      requireInside(folder);
      Path ours = folder.resolve(ModelOptionsFile.NAME);
      Path tritons = folder.resolve(TritonConfigFile.NAME);
      requireInside(ours);
      requireInside(tritons);
      boolean mayBeEnsemble = onlyModel.isEmpty() && config.isEmpty();
      if (mayBeEnsemble && EnsembleFile.read(ours, model).isPresent()) {
        return;
      }
      TritonConfig declared =
          config.isPresent() ? config.get() : TritonConfigFile.read(tritons, model);
      if (mayBeEnsemble && !Files.exists(ours) && ensemble(model, declared).isPresent()) {
        return;
      }
      declared.requireModel();
      Path data = folder.resolve(WarmUp.FOLDER);
      requireInside(data);
      ModelOptions options =
          (config.isEmpty() && Files.exists(ours)
                  ? ModelOptionsFile.read(ours)
                  : TritonOptions.of(declared))
              .withFiles(data::resolve);
      List<Long> versions =
          list(folder).stream()
              .filter(path -> VERSION.matcher(name(path)).matches() && Files.isDirectory(path))
              .map(path -> Long.parseLong(name(path)))
              .toList();
      Path single = declared.modelFile(folder);
      if (versions.isEmpty() && onlyModel.isPresent() && Files.isRegularFile(single)) {
        ModelVersion version = new ModelVersion(model, ONLY_VERSION);
        register(new Registered(version, single, options, declared), folder, registered, problems);
        return;
      }
      List<Long> served = choice.among(versions, declared);
      if (served.isEmpty()) {
        problems.add(
            new Problem(
                model,
                versions.isEmpty()
                    ? "it has no version folder (a positive integer)"
                        + (onlyModel.isPresent() ? " and no " + declared.modelFile() : "")
                    : choice.served().map("serve \"%s\""::formatted).orElse("its version_policy")
                        + " names none of its versions, "
                        + versions));
      }
      for (long version : served) {
        Path place = folder.resolve(Long.toString(version));
        Path file = declared.modelFile(place);
        ModelVersion found = new ModelVersion(model, version);
        register(new Registered(found, file, options, declared), place, registered, problems);
      }
    } catch (StatusException e) {
      problems.add(new Problem(model, String.valueOf(e.getMessage())));
    } catch (IOException e) {
      problems.add(new Problem(model, "it cannot be read: " + e));
    }
  }

  private void register(
      Registered found, Path place, List<Registered> registered, List<Problem> problems) {
    Path file = found.modelFile();
    try {
      requireInside(file);
      if (!Files.isRegularFile(file)) {
        throw new StatusException(Status.NOT_FOUND, "it has no " + place.relativize(file));
      }
      registered.add(found);
    } catch (StatusException | IOException e) {
      problems.add(
          new Problem(
              found.version().model(),
              "version " + found.version().version() + ": " + e.getMessage()));
    }
  }

  /** Links may lead from one place of the repository to another, not out of it. */
  private void requireInside(Path path) throws IOException {
    if (Files.exists(path) && !path.toRealPath().startsWith(root.toRealPath())) {
      throw new StatusException(
          Status.INVALID_ARGUMENT,
          root.relativize(path) + " is a link that leads out of the repository");
    }
  }

  private static List<Path> list(Path folder) throws IOException {
    try (Stream<Path> children = Files.list(folder)) {
      List<Path> paths = children.limit(MAXIMUM_ENTRIES + 1L).sorted().toList();
      if (paths.size() > MAXIMUM_ENTRIES) {
        throw new IOException(
            "%s has more than %d entries".formatted(folder.getFileName(), MAXIMUM_ENTRIES));
      }
      return paths;
    }
  }

  private static String name(Path path) {
    return path.getFileName().toString();
  }
}
