package io.pipelane.modelstore.repository;

import io.pipelane.modelstore.cache.ContentHashes;
import java.io.IOException;
import java.nio.file.FileVisitOption;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;

/**
 * The look of a model's folder from outside: paths, sizes, times of change and inodes of all that
 * is in it. Two looks that agree find the same files, and no file's content is read.
 */
final class FolderStamp {
  private static final int MAXIMUM_DEPTH = 8;
  private static final int MAXIMUM_FILES = 100_000;

  private FolderStamp() {}

  /**
   * Looks at a folder; links are followed, as what they lead to may change.
   *
   * @throws IOException when it cannot be read, or has too many files; it may have changed while it
   *     was looked at
   */
  static String of(Path folder) throws IOException {
    List<String> lines = new ArrayList<>();
    Files.walkFileTree(
        folder,
        EnumSet.of(FileVisitOption.FOLLOW_LINKS),
        MAXIMUM_DEPTH,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes found)
              throws IOException {
            if (lines.size() == MAXIMUM_FILES) {
              throw new IOException(folder + " has more than " + MAXIMUM_FILES + " files");
            }
            lines.add(
                "%s|%d|%s|%s|%s"
                    .formatted(
                        folder.relativize(file),
                        found.size(),
                        found.lastModifiedTime().toInstant(),
                        found.fileKey(),
                        found.isDirectory()));
            return FileVisitResult.CONTINUE;
          }
        });
    Collections.sort(lines);
    return ContentHashes.ofText(String.join("\n", lines));
  }
}
