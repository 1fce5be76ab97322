package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
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
      SentPaths paths = new SentPaths(root, CarriedModel::refused);
      for (Map.Entry<String, byte[]> file : files.entrySet()) {
        Path target = paths.of(file.getKey());
        paths.createFolderOf(target);
        Files.write(target, file.getValue(), StandardOpenOption.CREATE_NEW);
      }
      written = true;
      return carried;
    } catch (FileAlreadyExistsException e) {
      throw refused("two of them have the same place");
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "the repository cannot be written to: " + e.getMessage(), e);
    } finally {
      if (!written) {
        carried.close();
      }
    }
  }

  private static StatusException refused(String reason) {
    return new StatusException(
        Status.INVALID_ARGUMENT, "the files that come with the load are refused: " + reason);
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
