package io.pipelane.lanes.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Signals to processes. */
public final class Signals {
  private Signals() {}

  /** Sends one, to all at the same time; it may take effect later. */
  public static void send(String name, long... pids) {
    List<String> command = new ArrayList<>(List.of("kill", "-" + name));
    LongStream.of(pids).mapToObj(Long::toString).forEach(command::add);
    try {
      assertEquals(0, new ProcessBuilder(command).start().waitFor());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Stops a process; it does nothing any more when this returns. */
  public static void stop(long pid) {
    send("STOP", pid);
    while (!isStopped(pid)) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** Threads stop one by one, each when it is next scheduled. */
  private static boolean isStopped(long pid) {
    try (Stream<Path> threads = Files.list(Path.of("/proc/" + pid + "/task"))) {
      for (Path thread : threads.toList()) {
        List<String> status = Files.readAllLines(thread.resolve("status"));
        if (status.stream().noneMatch(line -> line.startsWith("State:\tT"))) {
          return false;
        }
      }
      return true;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
