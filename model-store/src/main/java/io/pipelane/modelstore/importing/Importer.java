package io.pipelane.modelstore.importing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.cache.ContentHashes;
import io.pipelane.modelstore.cache.ImportCache;
import io.pipelane.modelstore.cache.ImportCache.FolderBuilder;
import io.pipelane.modelstore.cache.ModelFolder;
import io.pipelane.runtime.Shape;
import java.io.IOException;
import java.io.Serial;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileLockInterruptionException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The importer that makes model versions servable: looks derived files up in the cache, or has them
 * made by a process of its own. Safe for any thread; blocks, so not for event loops.
 */
public final class Importer {
  /**
   * Raised whenever derived files change their form or meaning, or import takes what it has
   * refused.
   */
  static final int FORMAT = 20;

  /** How many refusals are remembered; a file of some hundred bytes for each, 20 KiB at most. */
  private static final int MOST_REFUSALS = 2000;

  private static final String REMEMBERED =
      " (remembered of an earlier import of the same files; load the model by name to try again)";

  private final ImportCache cache;
  private final Refusals refusals;
  private final ContentHashes hashes;
  private final Supplier<ImportSettings> settingsNow;

  private final ImportTurns turns;

  /** One of parts that are open. */
  Importer(
      ImportCache cache,
      Refusals refusals,
      ContentHashes hashes,
      Supplier<ImportSettings> settings,
      ImportTurns turns) {
    this.cache = cache;
    this.refusals = refusals;
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
    Clock clock = Clock.systemUTC();
    return new Importer(
        cache,
        Refusals.open(cacheFolder.resolve("refusals"), MOST_REFUSALS, clock),
        ContentHashes.open(cacheFolder.resolve("hashes.json"), clock),
        settings,
        new ImportTurns(atOnce));
  }

  /** What the refusal of an earlier import is worth. */
  public enum EarlierRefusal {
    /** The model is refused with the same reason. */
    HOLDS,

    /** The model is imported again, as its owner has ordered that by name. */
    IS_TRIED_AGAIN
  }

  /** Imports one model file of whose shapes nobody has declared anything. */
  public ImportedModel importModel(Path modelFile, ModelVersion version) {
    return importModel(modelFile, version, Map.of(), EarlierRefusal.HOLDS);
  }

  /**
   * Imports one model file, or finds that it has been, or has been refused.
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
      Path modelFile, ModelVersion version, Map<String, Shape> declared, EarlierRefusal earlier) {
    ImportSettings settings = settingsNow.get();
    try {
      ModelFolder files = checkedFolder(modelFile, settings);
      String state = files.state();
      String content = hashes.ofModel(modelFile, files);
      DeclaredShapes shapes = DeclaredShapes.of(modelFile, declared);
      String key = key(content, settings, shapes);
      String refusalKey = refusalKey(key, settings);
      Path folder =
          obtain(
              key,
              earlier,
              draft -> {
                if (earlier == EarlierRefusal.HOLDS) {
                  refuseAsBefore(refusalKey);
                }
                shapes.write(draft);
                turns.take(
                    () -> { // Since then a device may be lost, and a file changed.
                      checkUnchanged(modelFile, state, content);
                      Optional<StatusException> refusal =
                          ImportProcess.run(modelFile, draft, settingsNow.get());
                      checkUnchanged(modelFile, state, content);
                      keep(refusalKey, refusal);
                    });
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
   * What comes of somebody else's import of the same is shared, but not what that is told of an
   * earlier one where this is to be tried again.
   */
  private Path obtain(String key, EarlierRefusal earlier, FolderBuilder builder)
      throws IOException {
    while (true) {
      try {
        return cache.obtain(key, builder);
      } catch (RememberedException e) {
        if (earlier == EarlierRefusal.HOLDS) {
          throw e.refusal;
        }
      }
    }
  }

  /** A model is refused as it was before. */
  private static final class RememberedException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    private final StatusException refusal;

    RememberedException(StatusException refusal) {
      super(refusal.getMessage(), refusal, false, false);
      this.refusal = refusal;
    }
  }

  private void refuseAsBefore(String refusalKey) {
    Optional<StatusException> before = refusals.find(refusalKey);
    if (before.isPresent()) {
      throw new RememberedException(before.get().saying(before.get().getMessage() + REMEMBERED));
    }
  }

  /** Remembers why a model is refused, and refuses it; what came of it before holds no more. */
  private void keep(String refusalKey, Optional<StatusException> refusal) throws IOException {
    if (refusal.isEmpty()) {
      refusals.forget(refusalKey);
      return;
    }
    refusals.remember(refusalKey, refusal.get());
    throw refusal.get();
  }

  /**
   * Whether what comes of a model file is known already, derived files or a refusal, so that its
   * import takes no process. Reads no model: false for files that have changed or were never
   * hashed, and for one that cannot be read, as its import is to say why.
   */
  public boolean knows(Path modelFile, Map<String, Shape> declared) {
    ImportSettings settings = settingsNow.get();
    try {
      ModelFolder folder = checkedFolder(modelFile, settings);
      if (!hashes.knows(folder)) {
        return false;
      }
      String content = hashes.ofModel(modelFile, folder);
      DeclaredShapes shapes = DeclaredShapes.of(modelFile, declared);
      String key = key(content, settings, shapes);
      return cache.find(key).isPresent() || refusals.find(refusalKey(key, settings)).isPresent();
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

  /**
   * Refusals end with the limits that they were made under, and with the release that made them.
   */
  private static String refusalKey(String key, ImportSettings settings) {
    return ContentHashes.ofText(
        String.join(
            "\n",
            "refused " + key,
            "release " + Importer.class.getPackage().getImplementationVersion(),
            "time " + settings.timeLimit(),
            "memory " + settings.memoryLimit(),
            "heap " + settings.heapLimit(),
            "file size " + settings.modelSizeLimit()));
  }
}
