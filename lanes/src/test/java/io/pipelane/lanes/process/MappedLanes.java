package io.pipelane.lanes.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** What a worker process has mapped as memory of lanes, as the system tells. */
final class MappedLanes {
  private MappedLanes() {}

  /** The files that are memory of a lane, by their numbers. */
  static List<String> files(long pid, int lane) throws IOException {
    return Files.readAllLines(Path.of("/proc/" + pid + "/maps")).stream()
        .filter(line -> line.contains("pipelane-lane-" + lane + " "))
        .map(line -> line.split(" +", 6)[4])
        .distinct()
        .toList();
  }

  /** How much of a file is in memory. */
  static long residentKibibytes(long pid, String file) throws IOException {
    List<String> lines = Files.readAllLines(Path.of("/proc/" + pid + "/smaps"));
    long resident = 0;
    boolean isInFile = false;
    for (String line : lines) {
      if (!line.contains("kB") && line.contains("-")) {
        isInFile = line.contains(" " + file + " ");
      } else if (isInFile && line.startsWith("Rss:")) {
        resident += Long.parseLong(line.replaceAll("\\D", ""));
      }
    }
    return resident;
  }
}
