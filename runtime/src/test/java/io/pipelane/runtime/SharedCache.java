package io.pipelane.runtime;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * A cache folder that the servers of a module's tests share, in all virtual machines that run them
 * beside each other: what one has imported, unpacked or measured, the next finds there. For tests
 * of something else.
 */
public final class SharedCache {
  private static final Path FOLDER = create(Path.of("target", "test-cache").toAbsolutePath());

  private SharedCache() {}

  /** The folder, which is empty at first and gone when the last virtual machine has ended. */
  public static Path folder() {
    return FOLDER;
  }

  private static Path create(Path folder) {
    try {
      Files.createDirectories(folder.getParent());
      FileChannel users =
          FileChannel.open(
              folder.resolveSibling(folder.getFileName() + ".lock"),
              StandardOpenOption.CREATE,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE);
      deleteIfAlone(folder, users);
      FileLock user = users.lock(0, Long.MAX_VALUE, true);
      Files.createDirectories(folder);
      ChildArchive.use(folder);
      Runtime.getRuntime().addShutdownHook(new Thread(() -> leave(folder, users, user)));
      return folder;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void leave(Path folder, FileChannel users, FileLock user) {
    try (users) {
      user.release();
      deleteIfAlone(folder, users);
    } catch (IOException e) {
      System.err.println(folder + " cannot be removed: " + e);
    }
  }

  /** What a build left that was killed is not for the next one either. */
  private static void deleteIfAlone(Path folder, FileChannel users) throws IOException {
    try (FileLock alone = users.tryLock()) {
      if (alone == null || !Files.exists(folder)) {
        return;
      }
      try (Stream<Path> files = Files.walk(folder)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.deleteIfExists(file);
        }
      }
    }
  }
}
