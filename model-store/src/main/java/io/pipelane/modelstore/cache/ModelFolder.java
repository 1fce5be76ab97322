package io.pipelane.modelstore.cache;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.runtime.graph.content.ModelFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** A model's file and everything beside and below it, where it may keep external data. */
public final class ModelFolder {
  private static final int MAXIMUM_ENTRIES = 10_000;

  private final Path folder;
  private final List<Path> files;

  private ModelFolder(Path folder, List<Path> files) {
    this.folder = folder;
    this.files = files;
  }

  /**
   * Lists a model's files, down to the depth at which external data may lie.
   *
   * @throws StatusException {@link Status#TOO_LARGE} when there are too many files and folders
   */
  public static ModelFolder of(Path modelFile) throws IOException {
    Path parent = modelFile.toAbsolutePath().getParent();
    if (parent == null) {
      throw new StatusException(Status.INVALID_ARGUMENT, modelFile + " lies in no folder");
    }
    Path folder = parent.toRealPath(); // A walk does not enter a link that it begins at.
    List<Path> entries;
    try (Stream<Path> walk = Files.walk(folder, ModelFile.MAXIMUM_DEPTH)) {
      entries = walk.limit(MAXIMUM_ENTRIES + 1L).toList();
    }
    if (entries.size() > MAXIMUM_ENTRIES) {
      throw new StatusException(
          Status.TOO_LARGE,
          "there are more than %d files and folders beside %s; remove those that are not the model's"
              .formatted(MAXIMUM_ENTRIES, modelFile.getFileName()));
    }
    return new ModelFolder(folder, entries.stream().filter(Files::isRegularFile).sorted().toList());
  }

  Path folder() {
    return folder;
  }

  /** The files, sorted. */
  List<Path> files() {
    return files;
  }

  /**
   * What tells, without reading them, that files have changed, come or gone. A change within the
   * clock tick of the file system after one before it can stay unseen, see {@link ContentHashes}.
   */
  public String state() throws IOException {
    StringBuilder state = new StringBuilder();
    for (Path file : files) {
      state.append(file).append(' ').append(FileStamp.of(file).stamp()).append('\n');
    }
    return state.toString();
  }

  /** The size of all files together. */
  public long byteSize() throws IOException {
    long bytes = 0;
    for (Path file : files) {
      bytes = Math.addExact(bytes, Files.size(file));
    }
    return bytes;
  }
}
