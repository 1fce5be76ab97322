package io.pipelane.server.jobs;

import java.io.IOException;
import java.util.List;

/** A disk, or somebody's share of it, that has no room for what a job writes. */
final class FullDisk {
  /** As the system says it; in another language a full disk is a disk that fails. */
  private static final List<String> SAID =
      List.of("No space left on device", "Disk quota exceeded");

  private FullDisk() {}

  /** Whether that is why something could not be written. */
  static boolean isBehind(IOException cause) {
    String message = String.valueOf(cause.getMessage());
    return SAID.stream().anyMatch(message::contains);
  }
}
