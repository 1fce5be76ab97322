package io.pipelane.modelstore.cache;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;

/** Folders of the cache: listing, deleting, and bringing them to disk. */
public final class Folders {
  private Folders() {}

  /** What a folder holds, sorted. */
  static List<Path> list(Path folder) throws IOException {
    try (Stream<Path> children = Files.list(folder)) {
      return children.sorted().toList();
    }
  }

  /** Deletes a folder and what is in it; links are not followed; absent is fine. */
  public static void delete(Path folder) throws IOException {
    if (Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
      for (Path child : list(folder)) {
        delete(child);
      }
    }
    Files.deleteIfExists(folder);
  }

  /**
   * Puts a link to another file in the place of one that holds the same bytes.
   *
   * @throws UnsupportedOperationException where there are no links
   */
  static void linkIfEqual(Path file, Path other) throws IOException {
    if (!Files.isSameFile(file, other) && Files.mismatch(file, other) < 0) {
      Path link = file.resolveSibling(file.getFileName() + ".link");
      Files.createLink(link, other);
      Files.move(link, file, StandardCopyOption.ATOMIC_MOVE);
    }
  }

  /** Brings a folder's files and the folder itself to disk. */
  static void flushFiles(Path folder) throws IOException {
    for (Path file : list(folder)) {
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
    }
    flush(folder);
  }

  /** Brings a folder's entries to disk. */
  static void flush(Path folder) throws IOException {
    try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }
}
