package io.pipelane.modelstore.repository;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ByteSize;
import io.pipelane.config.value.ModelName;
import io.pipelane.modelstore.ModelVersion;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * The writer that puts versions of models into a repository and takes them out again. A version is
 * there whole or not at all: it is put together in a folder whose name a scan passes over, and
 * renamed at the end. Methods block; safe for any thread.
 */
public final class RepositoryWriter {
  private static final System.Logger LOG = System.getLogger(RepositoryWriter.class.getName());

  private final Path root;
  private final ByteSize limit;
  private final RandomGenerator names;
  private final FolderFlush flush;

  /** The way to have a folder's entries reach the disk. */
  @FunctionalInterface
  interface FolderFlush {
    void flush(Path folder) throws IOException;
  }

  /**
   * Takes charge of a repository folder, and clears away what processes that have ended left
   * unfinished; others may share it.
   *
   * @param limit the largest version, packed or not
   * @param names makes names of drafts
   * @throws StatusException {@link Status#UNAVAILABLE} when the folder cannot be written to
   */
  public RepositoryWriter(Path root, ByteSize limit, RandomGenerator names) {
    this(root, limit, names, RepositoryWriter::flushToDisk);
  }

  RepositoryWriter(Path root, ByteSize limit, RandomGenerator names, FolderFlush flush) {
    this.root = root.toAbsolutePath();
    this.limit = limit;
    this.names = names;
    this.flush = flush;
    if (!Files.isWritable(this.root)) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "repository.upload is true, but " + this.root + " cannot be written to");
    }
    try {
      Draft.sweep(this.root);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void flushToDisk(Path folder) throws IOException {
    try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  /** The largest version, packed or not. */
  public ByteSize limit() {
    return limit;
  }

  /**
   * Begins to take in a version.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a name that is not allowed and for
   *     a version that is there, {@link Status#UNAVAILABLE} when nothing can be written
   */
  public IncomingVersion receive(ModelVersion version, IncomingVersion.Form form) {
    Path target = target(version);
    if (Files.exists(target)) {
      throw exists(version);
    }
    Draft draft = draft();
    try {
      return new IncomingVersion(this, version, form, draft);
    } catch (IOException e) {
      draft.close();
      throw unwritable(e);
    }
  }

  /**
   * A model's options.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for a name that is not allowed
   */
  public StoredOptions options(String model) {
    ModelName.require(model);
    return new StoredOptions(this, model, root.resolve(model));
  }

  Draft draft() {
    try {
      return Draft.create(root, names);
    } catch (IOException e) {
      throw unwritable(e);
    }
  }

  static StatusException unwritable(IOException cause) {
    return new StatusException(
        Status.UNAVAILABLE, "the repository cannot be written to: " + cause.getMessage(), cause);
  }

  /**
   * Keeps files that came with a request to load a model, in the repository's layout.
   *
   * @param files by their paths in the model's folder, like {@code 1/model.onnx}
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for names that are not allowed, {@link
   *     Status#TOO_LARGE} beyond the limit, {@link Status#UNAVAILABLE} when nothing can be written
   */
  public CarriedModel carry(String model, Map<String, byte[]> files) {
    ModelName.require(model);
    long bytes = files.values().stream().mapToLong(file -> file.length).sum();
    if (bytes > limit.bytes()) {
      throw new StatusException(
          Status.TOO_LARGE,
          "the files of %s have %d bytes, more than repository.upload-limit, %s"
              .formatted(model, bytes, limit));
    }
    return CarriedModel.write(draft(), model, files);
  }

  /** The place of a model's file in a version's folder. */
  Path modelFile(String model, Path version) throws IOException {
    return TritonConfigFile.read(root.resolve(model).resolve(TritonConfigFile.NAME), model)
        .modelFile(version);
  }

  private Path target(ModelVersion version) {
    ModelName.require(version.model());
    return folder(version).resolve(Long.toString(version.version()));
  }

  private Path folder(ModelVersion version) {
    return root.resolve(version.model());
  }

  /**
   * Makes a finished folder a version, which lasts once this returns.
   *
   * @param files that are in it, whose bytes are on disk
   * @throws StatusException {@link Status#INVALID_ARGUMENT} when the version has come there
   *     meanwhile, {@link Status#UNAVAILABLE} when some of the files are gone
   */
  void publish(Path folder, ModelVersion version, int files) throws IOException {
    Path target = target(version);
    flushWhole(folder, version, files);
    Files.createDirectories(folder(version));
    if (Files.exists(target)) {
      throw exists(version);
    }
    // A folder that has come there meanwhile and is not empty makes this fail.
    Files.move(folder, target, StandardCopyOption.ATOMIC_MOVE);
    flush.flush(folder(version));
    flush.flush(root); // The model's folder may be new, be it another's who has not flushed it.
    LOG.log(Level.INFO, "{0} has been uploaded", version);
  }

  /** Puts a file, whose bytes are on disk, into a folder for good, in place of one of its name. */
  void replace(Path file, Path folder) throws IOException {
    Path target = folder.resolve(file.getFileName());
    Files.move(file, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    flush.flush(folder);
    flush.flush(root); // The model's folder may be new.
    LOG.log(Level.INFO, "{0} has been written", target);
  }

  /**
   * Refuses a path that a link leads out of the repository.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} for one that does
   */
  void requireInside(Path path) throws IOException {
    if (!path.toRealPath().startsWith(root.toRealPath())) {
      throw new StatusException(
          Status.INVALID_ARGUMENT, path + " leads out of the repository; only files in it count");
    }
  }

  /** Flushes a folder and all in it, the deepest first. */
  private void flushWhole(Path folder, ModelVersion version, int files) throws IOException {
    List<Path> deepestFirst;
    try (Stream<Path> paths = Files.walk(folder)) {
      deepestFirst = paths.sorted(Comparator.reverseOrder()).toList();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    int found = 0;
    for (Path path : deepestFirst) {
      if (Files.isDirectory(path)) {
        flush.flush(path);
      } else {
        found++;
      }
    }
    if (found != files) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "of the %d files of %s somebody has left %d; send it again"
              .formatted(files, version, found));
    }
  }

  /** Whether the repository has a folder of a version. */
  public boolean has(ModelVersion version) {
    return Files.isDirectory(target(version));
  }

  /**
   * Deletes a version.
   *
   * @param whenGone done once it is certain to go: scans do not find it any more, its files still
   *     lie elsewhere
   * @throws StatusException {@link Status#NOT_FOUND} when there is none, {@link Status#UNAVAILABLE}
   *     when it cannot be deleted; it is there as before then, and nothing is done
   */
  public void delete(ModelVersion version, Runnable whenGone) {
    Path target = target(version);
    if (!has(version)) {
      throw new StatusException(Status.NOT_FOUND, "the repository has no " + version);
    }
    try {
      try (Draft leaving = Draft.create(root, names)) {
        Files.move(target, leaving.beside("leaving"), StandardCopyOption.ATOMIC_MOVE);
        whenGone.run();
      }
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, version + " cannot be deleted: " + e.getMessage(), e);
    }
    deleteIfEmpty(folder(version));
    LOG.log(Level.INFO, "{0} has been deleted", version);
  }

  private static void deleteIfEmpty(Path folder) {
    try (Stream<Path> children = Files.list(folder)) {
      if (children.findAny().isEmpty()) {
        Files.delete(folder);
      }
    } catch (IOException e) {
      LOG.log(Level.WARNING, "{0} is left behind: {1}", folder, e.getMessage());
    }
  }

  private static StatusException exists(ModelVersion version) {
    return new StatusException(
        Status.INVALID_ARGUMENT,
        version + " is there already; versions never change: upload it as another, or delete it");
  }
}
