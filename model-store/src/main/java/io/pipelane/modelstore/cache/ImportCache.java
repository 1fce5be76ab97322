package io.pipelane.modelstore.cache;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Folders of derived files, one per key. A folder is there whole or not at all, whatever the moment
 * a process or the machine stopped at. Safe for any thread and for several processes.
 */
public final class ImportCache {
  /*
   * entries/<key>/   what is published; a manifest names each file's size and CRC-32C
   * work/<key>.<n>/  under construction; renamed to entries/<key> once everything is on disk
   * locks/<key>      held by the process that builds the key
   *
   * Work folders whose lock is free are leftovers of a process that ended, and are swept.
   * Lock order: the flight of a key (inside the process), then its file lock (across processes).
   */
  private final Path entries;
  private final Path work;
  private final Path locks;
  private final StepHook hook;
  private final ConcurrentHashMap<String, CompletableFuture<Path>> flights =
      new ConcurrentHashMap<>();
  private final Set<String> verified = ConcurrentHashMap.newKeySet();

  /** Fills the folder of a key. */
  @FunctionalInterface
  public interface FolderBuilder {
    void build(Path folder) throws IOException;
  }

  /** Told before each step of a publication; throwing imitates a crash there. */
  @FunctionalInterface
  public interface StepHook {
    StepHook NONE = step -> {};

    void before(Step step) throws IOException;
  }

  /** The steps of a publication, in order. */
  public enum Step {
    BUILD,
    WRITE_MANIFEST,
    FLUSH_FILES,
    REMOVE_DAMAGED,
    RENAME,
    FLUSH_FOLDER
  }

  private ImportCache(Path root, StepHook hook) {
    this.entries = root.resolve("entries");
    this.work = root.resolve("work");
    this.locks = root.resolve("locks");
    this.hook = hook;
  }

  /** Opens a cache, creating its folders and sweeping what ended processes left behind. */
  public static ImportCache open(Path root) throws IOException {
    return open(root, StepHook.NONE);
  }

  static ImportCache open(Path root, StepHook hook) throws IOException {
    ImportCache cache = new ImportCache(root.toAbsolutePath(), hook);
    for (Path folder : List.of(cache.entries, cache.work, cache.locks)) {
      Files.createDirectories(folder);
    }
    cache.sweep();
    return cache;
  }

  /**
   * The folder of a key, if it is there and undamaged. Checksums are verified the first time that
   * this process asks for a key, sizes every time.
   */
  public Optional<Path> find(String key) throws IOException {
    Path folder = entries.resolve(key);
    boolean sound = Manifest.matches(folder, !verified.contains(key));
    if (sound) {
      verified.add(key);
    } else {
      verified.remove(key);
    }
    return sound ? Optional.of(folder) : Optional.empty();
  }

  /**
   * The folder of a key, built first where it is missing or damaged; one caller builds, others wait
   * and share its result, be it a failure.
   */
  public Path obtain(String key, FolderBuilder builder) throws IOException {
    CompletableFuture<Path> mine = new CompletableFuture<>();
    CompletableFuture<Path> other = flights.putIfAbsent(key, mine);
    if (other != null) {
      return join(other);
    }
    try {
      Path folder = findOrBuild(key, builder);
      mine.complete(folder);
      return folder;
    } catch (Throwable e) {
      mine.completeExceptionally(e);
      throw e;
    } finally {
      flights.remove(key, mine);
    }
  }

  private static Path join(CompletableFuture<Path> flight) throws IOException {
    try {
      return flight.join();
    } catch (CompletionException e) {
      switch (e.getCause()) {
        case IOException cause -> throw cause;
        case RuntimeException cause -> throw cause;
        case null, default -> throw e;
      }
    }
  }

  private Path findOrBuild(String key, FolderBuilder builder) throws IOException {
    Optional<Path> found = find(key);
    if (found.isPresent()) {
      return found.get();
    }
    try (FileChannel channel = openLock(key);
        FileLock lock = channel.lock()) {
      if (!lock.isValid()) {
        throw new IOException("lost the lock of " + key);
      }
      found = find(key);
      return found.isPresent() ? found.get() : build(key, builder);
    }
  }

  private Path build(String key, FolderBuilder builder) throws IOException {
    Path draft = Files.createTempDirectory(work, key + ".");
    Path published = entries.resolve(key);
    boolean failedCleanly = true;
    try {
      hook.before(Step.BUILD);
      builder.build(draft);
      hook.before(Step.WRITE_MANIFEST);
      Manifest.write(draft);
      hook.before(Step.FLUSH_FILES);
      Folders.flushFiles(draft);
      hook.before(Step.REMOVE_DAMAGED);
      Folders.delete(published);
      hook.before(Step.RENAME);
      Files.move(draft, published, StandardCopyOption.ATOMIC_MOVE);
      hook.before(Step.FLUSH_FOLDER);
      Folders.flush(entries);
      verified.add(key);
      return published;
    } catch (Error e) {
      failedCleanly = false;
      throw e;
    } finally {
      if (failedCleanly) {
        Folders.delete(draft);
      }
    }
  }

  private void sweep() throws IOException {
    for (Path leftover : Folders.list(work)) {
      String name = leftover.getFileName().toString();
      String key = name.substring(0, Math.max(0, name.lastIndexOf('.')));
      try (FileChannel channel = openLock(key.isEmpty() ? name : key);
          FileLock lock = channel.tryLock()) {
        if (lock != null) {
          Folders.delete(leftover);
        }
      } catch (OverlappingFileLockException e) {
        // Another cache of this process is building it.
      }
    }
  }

  private FileChannel openLock(String key) throws IOException {
    return FileChannel.open(
        locks.resolve(key), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
  }
}
