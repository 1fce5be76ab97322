package io.pipelane.modelstore.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;

/**
 * The identity of a file's content, as long as nobody writes to it: links to one file hold the
 * same.
 *
 * @param file the system's own key of it, or its path where there is none
 * @param byteSize with {@code changed}, tells a file apart that has the key of one that was deleted
 */
record FileContent(Object file, long byteSize, FileTime changed) {
  /** The content of a file that exists. */
  static FileContent of(Path path) throws IOException {
    BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
    Object key = attributes.fileKey();
    return new FileContent(
        key == null ? path : key, attributes.size(), attributes.lastModifiedTime());
  }
}
