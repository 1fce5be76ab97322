package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A model's options as a repository keeps them: {@code pipelane.yaml} in the model's folder, which
 * counts for all its versions from their next load on. Methods block; safe for any thread.
 */
public final class StoredOptions {
  private final RepositoryWriter writer;
  private final String model;
  private final Path folder;

  StoredOptions(RepositoryWriter writer, String model, Path folder) {
    this.writer = writer;
    this.model = model;
    this.folder = folder;
  }

  /**
   * The file as it was written.
   *
   * @throws StatusException {@link Status#NOT_FOUND} when there is none, {@link Status#UNAVAILABLE}
   *     when it cannot be read
   */
  public byte[] read() {
    Path file = folder.resolve(ModelOptionsFile.NAME);
    try {
      if (!Files.isRegularFile(file)) {
        throw new StatusException(
            Status.NOT_FOUND, "model \"" + model + "\" has no " + ModelOptionsFile.NAME);
      }
      writer.requireInside(file);
      return ModelOptionsFile.bytes(file);
    } catch (IOException e) {
      throw new StatusException(Status.UNAVAILABLE, file + " cannot be read: " + e.getMessage(), e);
    }
  }

  /**
   * Puts other options in their place, whole or not at all, and makes the model's folder where
   * there is none.
   *
   * @param permission told each model of which they make an ensemble; what it throws is thrown
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for what import would refuse, {@link
   *     Status#UNAVAILABLE} when nothing can be written; what was there stays then
   */
  public void write(byte[] yaml, Consumer<String> permission) {
    try (Draft draft = writer.draft()) {
      Path written = draft.content().resolve(ModelOptionsFile.NAME);
      try (FileChannel file =
          FileChannel.open(written, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
        ByteBuffer bytes = ByteBuffer.wrap(yaml);
        while (bytes.hasRemaining()) {
          file.write(bytes);
        }
        file.force(true);
      }
      Optional<Ensemble> ensemble = EnsembleFile.read(written, model);
      if (ensemble.isPresent()) {
        ensemble.get().members().forEach(permission);
      } else {
        ModelOptionsFile.read(written).withFiles(folder.resolve(WarmUp.FOLDER)::resolve);
      }
      Files.createDirectories(folder);
      writer.requireInside(folder);
      writer.replace(written, folder);
    } catch (IOException e) {
      throw RepositoryWriter.unwritable(e);
    }
  }
}
