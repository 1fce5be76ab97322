package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.RepositoryScan.Problem;
import io.pipelane.modelstore.repository.RepositoryScan.Registered;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A folder of models in Triton's layout, {@code <model>/<version>/model.onnx}; nothing is ever
 * written to it.
 */
public final class Repository {
  private static final Pattern MODEL_NAME = Pattern.compile("[A-Za-z0-9_-][A-Za-z0-9._ -]{0,127}");
  private static final Pattern VERSION = Pattern.compile("[1-9][0-9]{0,17}");
  private static final String MODEL_FILE = "model.onnx";
  private static final int MAXIMUM_ENTRIES = 100_000;

  private final Path root;

  public Repository(Path root) {
    this.root = root.toAbsolutePath();
  }

  /**
   * Looks at every model; one that cannot be registered does not keep others from it.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when there is no such folder, {@link
   *     Status#UNAVAILABLE} when it cannot be read
   */
  public RepositoryScan scan() {
    if (!Files.isDirectory(root)) {
      throw new StatusException(Status.NOT_FOUND, "there is no repository folder " + root);
    }
    List<Registered> registered = new ArrayList<>();
    List<Problem> problems = new ArrayList<>();
    try {
      for (Path folder : list(root)) {
        if (Files.isDirectory(folder) && !name(folder).startsWith(".")) {
          scan(folder, registered, problems);
        }
      }
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "repository " + root + " cannot be read: " + e, e);
    }
    registered.sort((a, b) -> a.version().compareTo(b.version()));
    return new RepositoryScan(registered, problems);
  }

  private void scan(Path folder, List<Registered> registered, List<Problem> problems) {
    String model = name(folder);
    try {
      if (!MODEL_NAME.matcher(model).matches()) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "model names have 1 to 128 letters, digits and . _ - or space");
      }
      requireInside(folder);
      requireInside(folder.resolve(ModelOptionsFile.NAME));
      ModelOptions options = ModelOptionsFile.read(folder.resolve(ModelOptionsFile.NAME));
      List<Path> versions =
          list(folder).stream()
              .filter(path -> VERSION.matcher(name(path)).matches() && Files.isDirectory(path))
              .toList();
      if (versions.isEmpty()) {
        problems.add(new Problem(model, "it has no version folder (a positive integer)"));
      }
      for (Path version : versions) {
        register(model, version, options, registered, problems);
      }
    } catch (StatusException e) {
      problems.add(new Problem(model, String.valueOf(e.getMessage())));
    } catch (IOException e) {
      problems.add(new Problem(model, "it cannot be read: " + e));
    }
  }

  private void register(
      String model,
      Path folder,
      ModelOptions options,
      List<Registered> registered,
      List<Problem> problems) {
    Path file = folder.resolve(MODEL_FILE);
    try {
      requireInside(folder);
      requireInside(file);
      if (!Files.isRegularFile(file)) {
        throw new StatusException(Status.NOT_FOUND, "it has no " + MODEL_FILE);
      }
      ModelVersion version = new ModelVersion(model, Long.parseLong(name(folder)));
      registered.add(new Registered(version, file, options));
    } catch (StatusException | IOException e) {
      problems.add(new Problem(model, "version " + name(folder) + ": " + e.getMessage()));
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
