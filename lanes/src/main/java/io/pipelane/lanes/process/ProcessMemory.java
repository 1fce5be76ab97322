package io.pipelane.lanes.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A reader of the system's figures of a process's memory. */
final class ProcessMemory {
  private ProcessMemory() {}

  /** Memory that no file and no other process shares; 0 when the process is gone. */
  static long privateBytes(long pid) {
    try {
      return Files.readAllLines(Path.of("/proc/" + pid + "/status")).stream()
          .filter(line -> line.startsWith("RssAnon:"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) << 10)
          .sum();
    } catch (IOException | NumberFormatException e) {
      return 0;
    }
  }
}
