package io.pipelane.modelstore.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The identity of a file's content, as long as nobody writes to it: links to one file hold the
 * same.
 *
 * @param file the system's own key of it, or its path where there is none
 * @param byteSize with {@code changedNanos}, tells a file apart that has the key of one that was
 *     deleted
 * @param changedNanos when it was written to last, since 1970
 */
record FileContent(Object file, long byteSize, long changedNanos) {
  /*
   * Looked up in every cold run, so seldom that it is not compiled for long: until then a record's
   * own ways to be compared and hashed take as long as all the rest of a lookup.
   */

  /** The content of a file that exists. */
  static FileContent of(Path path) throws IOException {
    BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
    Object key = attributes.fileKey();
    long changedNanos = attributes.lastModifiedTime().to(TimeUnit.NANOSECONDS);
    return new FileContent(key == null ? path : key, attributes.size(), changedNanos);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof FileContent content
        && byteSize == content.byteSize
        && changedNanos == content.changedNanos
        && file.equals(content.file);
  }

  @Override
  public int hashCode() {
    return 31 * file.hashCode() + Long.hashCode(byteSize ^ changedNanos);
  }
}
