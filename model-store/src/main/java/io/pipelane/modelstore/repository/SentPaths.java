package io.pipelane.modelstore.repository;

import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.function.Function;

/** The places inside one folder for files whose names strangers have sent. */
final class SentPaths {
  /** What file systems take as the name of one file, in bytes of UTF-8. */
  private static final int LONGEST_NAME = 255;

  /** A name with its folders, in bytes of UTF-8. */
  private static final int LONGEST_PATH = 1_024;

  private final Path folder;
  private final Function<String, StatusException> refused;

  /**
   * Paths inside a folder.
   *
   * @param refused what is thrown for a reason
   */
  SentPaths(Path folder, Function<String, StatusException> refused) {
    this.folder = folder;
    this.refused = refused;
  }

  /**
   * The place of a name, which is not looked at on disk.
   *
   * @throws StatusException when it is no path, too long, or leads out of the folder
   */
  Path of(String name) {
    Path target;
    try {
      target = folder.resolve(name).normalize();
    } catch (InvalidPathException e) {
      throw refused.apply("the name of one of its files is no path");
    }
    if (name.indexOf('\\') >= 0 || !target.startsWith(folder) || target.equals(folder)) {
      throw refused.apply("\"" + name + "\" does not lie inside its folder");
    }
    requireLengths(name, folder.relativize(target));
    return target;
  }

  private void requireLengths(String name, Path inside) {
    boolean tooLong = length(name) > LONGEST_PATH;
    for (Path part : inside) {
      tooLong |= length(part.toString()) > LONGEST_NAME;
    }
    if (tooLong) {
      throw refused.apply(
          "the name of one of its files has more than %d bytes, or more than %d between slashes"
              .formatted(LONGEST_PATH, LONGEST_NAME));
    }
  }

  private static int length(String name) {
    return name.getBytes(StandardCharsets.UTF_8).length;
  }

  /**
   * Makes a folder that {@link #of} has given.
   *
   * @throws StatusException when a file lies where a folder is to be
   */
  void createFolder(Path target) throws IOException {
    Path above = folder;
    for (Path part : folder.relativize(target)) {
      above = above.resolve(part);
      if (Files.isRegularFile(above)) {
        throw refused.apply("\"" + folder.relativize(above) + "\" is a file and a folder");
      }
    }
    Files.createDirectories(target);
  }

  /** Makes the folder of a file that {@link #of} has given. */
  void createFolderOf(Path file) throws IOException {
    createFolder(file.resolve("..").normalize());
  }
}
