package io.pipelane.modelstore.cache;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Folders of derived files, one per key. A folder is there whole or not at all, whatever the moment
 * a process or the machine stopped at. Safe for any thread and for several processes.
 */
public final class ImportCache implements AutoCloseable {
  /*
   * entries/<key>/   what is published; a manifest names each file's size and CRC-32C
   *                  (a file may be a link to another entry's of the same content; none is written
   *                  to once it is there, but what is found out about one may be put beside it)
   * work/<key>.<n>/  under construction; renamed to entries/<key> once everything is on disk
   * locks/<key>      held by the process that builds the key
   * opened           locked by every process that has the cache open; its time is that of the
   *                  last opening by a process that was alone
   *
   * Work folders whose lock is free are leftovers of a process that ended, and are swept.
   * An entry's time is that of its last use, the first in a process's life counting. A process may
   * live longer than UNUSED_LIMIT and its models with it: so a process that is alone deletes only
   * entries that had gone unused for so long when its predecessor came, and did not use either.
   * Lock order: the flight of a key (inside the process), then its file lock (across processes).
   */
  private static final System.Logger LOG = System.getLogger(ImportCache.class.getName());
  private static final String OPENED = "opened";

  /** Smaller files are not worth looking for. */
  private static final long LEAST_SHARED_BYTES = 64 << 10;

  private static final Duration UNUSED_LIMIT = Duration.ofDays(90);

  private final Path entries;
  private final Path work;
  private final Path locks;
  private final StepHook hook;
  private final Clock clock;
  private final FileChannel opened;
  private @Nullable FileLock presence;
  private final ConcurrentHashMap<String, CompletableFuture<Path>> flights =
      new ConcurrentHashMap<>();
  private final Set<String> verified = ConcurrentHashMap.newKeySet();

  /** The builder of a key's folder. */
  @FunctionalInterface
  public interface FolderBuilder {
    void build(Path folder) throws IOException;
  }

  /**
   * An observer that is told before each step of a publication; throwing imitates a crash there.
   */
  @FunctionalInterface
  public interface StepHook {
    StepHook NONE = step -> {};

    void before(Step step) throws IOException;
  }

  /** The steps of a publication, in order. */
  public enum Step {
    BUILD,
    WRITE_MANIFEST,
    SHARE_FILES,
    FLUSH_FILES,
    REMOVE_DAMAGED,
    RENAME,
    FLUSH_FOLDER
  }

  private ImportCache(Path root, StepHook hook, Clock clock) throws IOException {
    this.entries = root.resolve("entries");
    this.work = root.resolve("work");
    this.locks = root.resolve("locks");
    this.hook = hook;
    this.clock = clock;
    for (Path folder : List.of(entries, work, locks)) {
      Files.createDirectories(folder);
    }
    this.opened =
        FileChannel.open(
            root.resolve(OPENED),
            StandardOpenOption.CREATE,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE);
  }

  /**
   * Opens a cache, creating its folders, sweeping what ended processes left behind and deleting
   * entries that have not been used for 90 days, unless another process has the cache open.
   */
  public static ImportCache open(Path root) throws IOException {
    return open(root, StepHook.NONE, Clock.systemUTC());
  }

  static ImportCache open(Path root, StepHook hook, Clock clock) throws IOException {
    Path absolute = root.toAbsolutePath();
    Path opened = absolute.resolve(OPENED);
    FileTime before =
        Files.exists(opened) ? Files.getLastModifiedTime(opened) : FileTime.from(Instant.EPOCH);
    ImportCache cache = new ImportCache(absolute, hook, clock);
    cache.sweep();
    cache.trim(opened, before);
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
      if (verified.add(key)) {
        touch(folder);
      }
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
      hook.before(Step.SHARE_FILES);
      shareFiles(draft);
      hook.before(Step.FLUSH_FILES);
      Folders.flushFiles(draft);
      hook.before(Step.REMOVE_DAMAGED);
      Folders.delete(published);
      hook.before(Step.RENAME);
      Files.move(draft, published, StandardCopyOption.ATOMIC_MOVE);
      hook.before(Step.FLUSH_FOLDER);
      Folders.flush(entries);
      verified.add(key);
      touch(published);
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

  /**
   * Makes large files of a folder links to those of other entries that hold the same, so that they
   * are on disk, and in memory, once. Where that cannot be done they stay as they are.
   */
  private void shareFiles(Path draft) throws IOException {
    for (Path entry : Folders.list(entries)) {
      for (String name : Manifest.inCommon(draft, entry, LEAST_SHARED_BYTES)) {
        try {
          Folders.linkIfEqual(draft.resolve(name), entry.resolve(name));
        } catch (IOException | UnsupportedOperationException e) {
          LOG.log(Level.DEBUG, "{0} is not shared with {1}: {2}", name, entry, e);
        }
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

  private void touch(Path path) {
    try {
      Files.setLastModifiedTime(path, FileTime.from(clock.instant()));
    } catch (IOException e) {
      // It belongs to someone else, and looks older than it is: at worst it is built again.
    }
  }

  private void trim(Path file, FileTime before) throws IOException {
    try {
      try (FileLock alone = opened.tryLock()) {
        if (alone != null) {
          deleteUnusedSince(before.toInstant().minus(UNUSED_LIMIT));
          touch(file);
        }
      }
      presence = opened.lock(0, Long.MAX_VALUE, true);
    } catch (OverlappingFileLockException e) {
      // Another cache of this process holds it.
    }
  }

  private void deleteUnusedSince(Instant limit) throws IOException {
    for (Path entry : Folders.list(entries)) {
      if (Files.getLastModifiedTime(entry).toInstant().isBefore(limit)) {
        Folders.delete(entry);
      }
    }
  }

  /** Lets other processes delete what is unused; the folders that were found stay as they are. */
  @Override
  public void close() throws IOException {
    if (presence != null) {
      presence.close();
    }
    opened.close();
  }

  private FileChannel openLock(String key) throws IOException {
    return FileChannel.open(
        locks.resolve(key), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
  }
}
