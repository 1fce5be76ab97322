package io.pipelane.modelstore.cache;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Instant;

/**
 * The stamp of a file, which tells without reading it that it is another than before.
 *
 * @param changed when its content was changed and, where the file system knows, when anything about
 *     it was: unlike the first nobody can set that time back
 * @param inode which file it is
 */
record FileStamp(long byteSize, String changed, String inode) {
  private static final String UNIX = "unix";

  /** A stamp, and when the file was changed last. */
  record Taken(FileStamp stamp, Instant changed) {}

  static Taken of(Path file) throws IOException {
    BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
    Instant content = attributes.lastModifiedTime().toInstant();
    Instant anything = content;
    if (file.getFileSystem().supportedFileAttributeViews().contains(UNIX)
        && Files.getAttribute(file, UNIX + ":ctime") instanceof FileTime time) {
      anything = time.toInstant();
    }
    FileStamp stamp =
        new FileStamp(
            attributes.size(), content + " " + anything, String.valueOf(attributes.fileKey()));
    return new Taken(stamp, content.isAfter(anything) ? content : anything);
  }
}
