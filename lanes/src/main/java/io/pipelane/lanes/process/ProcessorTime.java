package io.pipelane.lanes.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The processor time that another process has used. Reads nothing that lies in that process's own
 * memory, as {@link ProcessHandle#info} does: one that is swapped out would have its reader wait.
 */
final class ProcessorTime {
  /** What the system tells times in, to all programs (USER_HZ). */
  private static final long TICK_NANOS = 10_000_000;

  /** Fields behind the process's name, of which the 12th and 13th are its own two times. */
  private static final int USER_TIME = 11;

  private ProcessorTime() {}

  /** Its time in its own code and in the kernel's, in whole ticks; 0 where it is gone. */
  static long ofProcess(long pid) {
    try {
      byte[] bytes = Files.readAllBytes(Path.of("/proc/" + pid + "/stat"));
      String stat = new String(bytes, StandardCharsets.ISO_8859_1);
      String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
      return (Long.parseLong(fields[USER_TIME]) + Long.parseLong(fields[USER_TIME + 1]))
          * TICK_NANOS;
    } catch (IOException e) {
      return 0;
    }
  }
}
