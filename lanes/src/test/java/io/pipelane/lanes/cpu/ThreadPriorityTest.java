package io.pipelane.lanes.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.pipelane.config.value.ProcessorList;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ThreadPriorityTest {
  private static final Path STAT = Path.of("/proc/thread-self/stat");

  /** The 19th field; the second is a name in brackets that may have blanks. */
  private static int nice() {
    try {
      String stat = Files.readString(STAT);
      String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
      return Integer.parseInt(fields[16]);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String allowed() {
    try (Stream<String> lines = Files.lines(Path.of("/proc/thread-self/status"))) {
      return lines
          .filter(line -> line.startsWith("Cpus_allowed_list:"))
          .map(line -> line.substring(line.indexOf(':') + 1).strip())
          .findFirst()
          .orElseThrow();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void keepTo_concernsTheCallingThreadAlone() throws Exception {
    assumeTrue(Files.exists(STAT), "Linux tells of threads there");
    String before = allowed();
    int first = Integer.parseInt(before.split("[-,]", 2)[0]);
    FutureTask<String> task =
        new FutureTask<>(
            () -> {
              assertFalse(ThreadPriority.keepTo(new ProcessorList(List.of(8000))));
              assertTrue(ThreadPriority.keepTo(new ProcessorList(List.of(first, 8000))));
              return allowed();
            });
    Thread.ofPlatform().start(task).join();
    assertEquals(Integer.toString(first), task.get());
    assertEquals(before, allowed());
  }

  @Test
  void yieldToOthers_concernsTheCallingThreadAlone() throws Exception {
    assumeTrue(Files.exists(STAT), "Linux tells of threads there");
    int before = nice();
    FutureTask<Integer> task =
        new FutureTask<>(
            () -> {
              assertTrue(ThreadPriority.yieldToOthers(Math.max(before, 7)));
              return nice();
            });
    Thread.ofPlatform().start(task).join();
    assertEquals(Math.max(before, 7), task.get());
    assertEquals(before, nice());
  }
}
