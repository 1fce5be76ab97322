package io.pipelane.modelstore.repository;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A folder of a repository that scans pass over, and that other processes leave alone while it is
 * open. It goes when it is closed. Methods block.
 */
final class Draft implements AutoCloseable {
  /*
   * .draft-<number>/lock      locked by the process whose draft it is
   * .draft-<number>/content/  what is put together there
   *
   * A draft whose lock is free belongs to a process that has ended. Who sweeps holds the lock until
   * the folder is gone: so a process whose new folder was swept before it could lock it finds the
   * lock taken, or its file gone, and makes another folder.
   *
   * A process's locks do not keep itself out, and closing any channel of a file frees them (POSIX,
   * fcntl): so the drafts of this process are known by name, and their files never opened again.
   */
  private static final String PREFIX = ".draft-";
  private static final String LOCK = "lock";
  private static final int ATTEMPTS = 100;
  private static final System.Logger LOG = System.getLogger(Draft.class.getName());
  private static final Set<Path> OWN = ConcurrentHashMap.newKeySet();

  private final Path folder;
  private final FileChannel lock;

  private Draft(Path folder, FileChannel lock) {
    this.folder = folder;
    this.lock = lock;
  }

  /**
   * Makes a new one, whose content is an empty folder.
   *
   * @param names makes its name
   */
  static Draft create(Path root, RandomGenerator names) throws IOException {
    Path real = root.toRealPath();
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      Path folder = real.resolve(PREFIX + HexFormat.of().toHexDigits(names.nextLong()));
      Draft draft = OWN.add(folder) ? take(folder) : null;
      if (draft != null) {
        return draft;
      }
    }
    throw new IOException("no draft can be made in " + root);
  }

  /** Null where the name is another's, or somebody who sweeps was faster. */
  private static @Nullable Draft take(Path folder) throws IOException {
    Draft draft = null;
    try {
      Files.createDirectory(folder);
      draft = lock(folder);
      if (draft != null) {
        Files.createDirectory(draft.content());
      }
      return draft;
    } catch (FileAlreadyExistsException | NoSuchFileException e) {
      return null;
    } catch (IOException e) {
      if (draft != null) {
        draft.close();
      }
      throw e;
    } finally {
      if (draft == null) {
        OWN.remove(folder);
      }
    }
  }

  private static @Nullable Draft lock(Path folder) throws IOException {
    FileChannel channel = open(folder);
    FileLock lock = channel.tryLock();
    if (lock == null || !Files.exists(folder.resolve(LOCK))) {
      channel.close();
      return null;
    }
    return new Draft(folder, channel);
  }

  private static FileChannel open(Path folder) throws IOException {
    return FileChannel.open(
        folder.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
  }

  /** Clears away the drafts that processes which have ended left in a repository. */
  static void sweep(Path root) throws IOException {
    try (DirectoryStream<Path> drafts = Files.newDirectoryStream(root.toRealPath(), PREFIX + "*")) {
      for (Path draft : drafts) {
        if (!OWN.contains(draft) && Files.isDirectory(draft, LinkOption.NOFOLLOW_LINKS)) {
          sweepIfFree(draft);
        }
      }
    }
  }

  private static void sweepIfFree(Path draft) {
    try (FileChannel channel = open(draft);
        FileLock lock = channel.tryLock()) {
      if (lock != null) {
        deleteQuietly(draft);
      }
    } catch (NoSuchFileException | OverlappingFileLockException e) {
      // It has gone meanwhile, or become this process's.
    } catch (IOException e) {
      LOG.log(Level.WARNING, "{0} is left behind: {1}", draft, e.getMessage());
    }
  }

  /** Where what is put together goes. */
  Path content() {
    return folder.resolve("content");
  }

  /** A place beside the content. */
  Path beside(String name) {
    return folder.resolve(name);
  }

  /** Deletes what is still there. */
  @Override
  public void close() {
    deleteQuietly(folder);
    try {
      lock.close();
    } catch (IOException e) {
      LOG.log(Level.WARNING, "the lock of {0} is left: {1}", folder, e.getMessage());
    }
    OWN.remove(folder);
  }

  /** Deletes a folder with all that is in it; links are not followed. */
  private static void deleteQuietly(Path folder) {
    try (Stream<Path> paths = Files.walk(folder)) {
      List<Path> deepestFirst = paths.sorted(Comparator.reverseOrder()).toList();
      for (Path path : deepestFirst) {
        Files.deleteIfExists(path);
      }
    } catch (IOException | UncheckedIOException e) {
      LOG.log(Level.WARNING, "{0} is left behind: {1}", folder, e.getMessage());
    }
  }
}
