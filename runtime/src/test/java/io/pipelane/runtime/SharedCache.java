package io.pipelane.runtime;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * A cache folder that the servers of this virtual machine's tests share: what one has imported,
 * unpacked or measured, the next finds there. For tests of something else.
 */
public final class SharedCache {
  private static final Path FOLDER = create();

  private SharedCache() {}

  /** The folder, which is gone when the virtual machine has ended. */
  public static Path folder() {
    return FOLDER;
  }

  private static Path create() {
    try {
      Path folder = Files.createTempDirectory("pipelane-test-cache");
      Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(folder)));
      return folder;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void delete(Path folder) {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      System.err.println(folder + " cannot be removed: " + e);
    }
  }
}
