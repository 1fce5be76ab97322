package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;

/**
 * A model whose files came with the request to load it: they stand beside the repository's own
 * models, where a scan passes over them, until this is closed. Methods block.
 */
public final class CarriedModel implements AutoCloseable {
  private final Draft draft;

  private CarriedModel(Draft draft) {
    this.draft = draft;
  }

  /**
   * Writes a model's files.
   *
   * @param draft a new one, which is closed with this, or if this fails
   * @param files by their paths in the model's folder, like {@code 1/model.onnx}
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a path that leads elsewhere, {@link
   *     Status#UNAVAILABLE} when nothing can be written; nothing is left then
   */
  static CarriedModel write(Draft draft, String model, Map<String, byte[]> files) {
    CarriedModel carried = new CarriedModel(draft);
    boolean written = false;
    try {
      Path root = Files.createDirectories(draft.content().resolve(model));
      for (Map.Entry<String, byte[]> file : files.entrySet()) {
        Path target = target(root, file.getKey());
        Files.createDirectories(target.getParent());
        Files.write(target, file.getValue(), StandardOpenOption.CREATE_NEW);
      }
      written = true;
      return carried;
    } catch (FileAlreadyExistsException e) {
      throw refused(String.valueOf(e.getFile()), "another file lies there");
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "the repository cannot be written to: " + e.getMessage(), e);
    } finally {
      if (!written) {
        carried.close();
      }
    }
  }

  private static Path target(Path root, String name) {
    Path target;
    try {
      target = root.resolve(name).normalize();
    } catch (InvalidPathException e) {
      throw refused(name, "it is no path");
    }
    if (name.indexOf('\\') >= 0 || !target.startsWith(root) || target.equals(root)) {
      throw refused(name, "it does not lie inside the model's folder");
    }
    return target;
  }

  private static StatusException refused(String name, String reason) {
    return new StatusException(
        Status.INVALID_ARGUMENT, "the file \"" + name + "\" is refused: " + reason);
  }

  /** The repository that has this model alone. */
  public Repository repository() {
    return new Repository(draft.content());
  }

  /** Deletes the files. */
  @Override
  public void close() {
    draft.close();
  }
}
