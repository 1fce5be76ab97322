package io.pipelane.lanes.monitor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The files in which Linux tells of itself, such as /proc/meminfo. Safe for any thread.
 *
 * @param root that they lie under; a folder of copies in tests
 */
record SystemFiles(Path root) {
  /** Those of this machine. */
  static SystemFiles ofThisMachine() {
    return new SystemFiles(Path.of("/"));
  }

  /** A file's text; empty where there is no such file, or nobody may read it. */
  String read(String file) {
    try {
      return Files.readString(root.resolve(file));
    } catch (IOException e) {
      return "";
    }
  }
}
