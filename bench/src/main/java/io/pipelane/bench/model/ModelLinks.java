package io.pipelane.bench.model;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A model's files under further paths: the same ones, copied where they cannot be linked. */
final class ModelLinks {
  private ModelLinks() {}

  /**
   * Links a file.
   *
   * @throws FileAlreadyExistsException when something is there already
   */
  static void link(Path file, Path target) throws IOException {
    try {
      Files.createLink(target, file);
    } catch (FileAlreadyExistsException e) {
      throw e;
    } catch (IOException | UnsupportedOperationException e) {
      Files.copy(file, target);
    }
  }
}
