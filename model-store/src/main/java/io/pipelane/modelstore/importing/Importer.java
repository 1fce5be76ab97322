package io.pipelane.modelstore.importing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.cache.ContentHashes;
import io.pipelane.modelstore.cache.ImportCache;
import io.pipelane.modelstore.cache.ModelFolder;
import io.pipelane.runtime.Shape;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileLockInterruptionException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The importer that makes model versions servable: looks derived files up in the cache, or has them
 * made by a process of its own. Safe for any thread; blocks, so not for event loops.
 */
public final class Importer {
  /** Raised whenever derived files change their form or meaning. */
  static final int FORMAT = 18;

  private final ImportCache cache;
  private final ContentHashes hashes;
  private final Supplier<ImportSettings> settingsNow;

  private final ImportTurns turns;

  private Importer(
      ImportCache cache,
      ContentHashes hashes,
      Supplier<ImportSettings> settings,
      ImportTurns turns) {
    this.cache = cache;
    this.hashes = hashes;
    this.settingsNow = settings;
    this.turns = turns;
  }

  /** Opens an importer that keeps all it writes in a cache folder, created where missing. */
  public static Importer open(Path cacheFolder, ImportSettings settings) throws IOException {
    return open(cacheFolder, () -> settings, Integer.MAX_VALUE);
  }

  /**
   * The same where a device that imports may be lost.
   *
   * @param settings asked for each import and again in its turn; only what is no part of its key
   *     may have changed meanwhile, as which of several like devices imports
   * @param atOnce import processes at a time, 1 or more; what needs another one waits
   */
  public static Importer open(Path cacheFolder, Supplier<ImportSettings> settings, int atOnce)
      throws IOException {
    ImportCache cache = ImportCache.open(cacheFolder);
    Path index = cacheFolder.resolve("hashes.json");
    return new Importer(
        cache, ContentHashes.open(index, Clock.systemUTC()), settings, new ImportTurns(atOnce));
  }

  /** Imports one model file of whose shapes nobody has declared anything. */
  public ImportedModel importModel(Path modelFile, ModelVersion version) {
    return importModel(modelFile, version, Map.of());
  }

  /**
   * Imports one model file, or finds that it has been.
   *
   * @param declared shapes of inputs and outputs by name, which count for those that the file gives
   *     no shape at all
   * @throws StatusException {@link Status#INVALID_ARGUMENT} with the reason for a file that is
   *     corrupt, hostile or not supported, {@link Status#TOO_LARGE} for one beyond the limit,
   *     {@link Status#CANCELLED} when the thread is interrupted, {@link Status#INSUFFICIENT_MEMORY}
   *     for lack of memory, {@link Status#UNAVAILABLE} when its files changed meanwhile or the
   *     process was ended from outside, so that the next attempt may succeed
   */
  public ImportedModel importModel(
      Path modelFile, ModelVersion version, Map<String, Shape> declared) {
    ImportSettings settings = settingsNow.get();
    try {
      ModelFolder files = checkedFolder(modelFile, settings);
      String state = files.state();
      String content = hashes.ofModel(modelFile, files);
      DeclaredShapes shapes = DeclaredShapes.of(modelFile, declared);
      String key = key(content, settings, shapes);
      Path folder =
          cache.obtain(
              key,
              draft -> {
                shapes.write(draft);
                turns.take(
                    () -> { // Since then a device may be lost, and a file changed.
                      checkUnchanged(modelFile, state, content);
                      ImportProcess.run(modelFile, draft, settingsNow.get());
                    });
                checkUnchanged(modelFile, state, content);
              });
      Plan plan = PlanFile.read(folder.resolve(ImportJob.PLAN));
      return new ImportedModel(
              version, plan, folder.resolve(ImportJob.GATED), folder.resolve(ImportJob.WEIGHTS))
          .ofContent(content);
    } catch (StatusException e) {
      throw e.saying(version + ": " + e.getMessage());
    } catch (FileLockInterruptionException | ClosedByInterruptException e) {
      throw new StatusException(Status.CANCELLED, version + ": its import was interrupted", e);
    } catch (IOException | UncheckedIOException e) {
      throw new StatusException(Status.INTERNAL, version + ": cannot be imported: " + e, e);
    }
  }

  /**
   * Whether what is derived of a model file is known to be there already, so that its import takes
   * no process. Reads no model: false for files that have changed or were never hashed, and for one
   * that cannot be read, as its import is to say why.
   */
  public boolean hasImported(Path modelFile, Map<String, Shape> declared) {
    ImportSettings settings = settingsNow.get();
    try {
      ModelFolder folder = checkedFolder(modelFile, settings);
      if (!hashes.knows(folder)) {
        return false;
      }
      String content = hashes.ofModel(modelFile, folder);
      DeclaredShapes shapes = DeclaredShapes.of(modelFile, declared);
      return cache.find(key(content, settings, shapes)).isPresent();
    } catch (StatusException | IOException | UncheckedIOException e) {
      return false;
    }
  }

  private static ModelFolder checkedFolder(Path modelFile, ImportSettings settings)
      throws IOException {
    if (!Files.isRegularFile(modelFile)) {
      throw new StatusException(Status.NOT_FOUND, "there is no file " + modelFile.getFileName());
    }
    ModelFolder folder = ModelFolder.of(modelFile);
    long bytes = folder.byteSize();
    if (bytes > settings.modelSizeLimit().bytes()) {
      throw new StatusException(
          Status.TOO_LARGE,
          "its files have %d bytes together, the limit is %s; raise import.max-file-size to import it"
              .formatted(bytes, settings.modelSizeLimit()));
    }
    return folder;
  }

  /**
   * What was built of files that changed meanwhile must not be found under the key of those before.
   * The stamps show any change but one within the tick of the file system's clock; files that young
   * are not remembered by {@link ContentHashes}, so they are read again for their key, others not.
   */
  private void checkUnchanged(Path modelFile, String state, String content) throws IOException {
    ModelFolder files = ModelFolder.of(modelFile);
    if (!files.state().equals(state) || !hashes.ofModel(modelFile, files).equals(content)) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "its files in %s were changed while it was imported; load it again when all are written"
              .formatted(modelFile.toAbsolutePath().getParent()));
    }
  }

  private static String key(String content, ImportSettings settings, DeclaredShapes shapes)
      throws IOException {
    return ContentHashes.ofText(
        String.join(
            "\n",
            "format " + FORMAT,
            "content " + content,
            "runtime " + settings.runtimeVersion(),
            "optimization " + settings.optimization(),
            "cuts " + settings.cuts(),
            settings.target().key() + (shapes.isEmpty() ? "" : "\nshapes " + shapes.text())));
  }
}
