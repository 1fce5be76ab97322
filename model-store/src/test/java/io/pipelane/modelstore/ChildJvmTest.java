package io.pipelane.modelstore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class ChildJvmTest {
  /** A thread that compiles is hit in the middle of its work most times. */
  private static final int CRASHES = 3;

  private static final int REPORT_SECONDS = 10;

  /** Everything that it runs is compiled first, as it starts. */
  public static final class Compiled {
    private Compiled() {}

    /** Does nothing, for ever. */
    public static void main(String[] arguments) throws InterruptedException {
      new CountDownLatch(1).await();
    }
  }

  /** A child that orders devices otherwise than the server takes another one for its own. */
  @Test
  void keepKnown_leavesWhatDevicesAreCountedBy() {
    Map<String, String> environment = new HashMap<>();
    Set<String> kept =
        Set.of("HOME", "CUDA_DEVICE_ORDER", "CUDA_CACHE_PATH", "CUDA_VISIBLE_DEVICES");
    kept.forEach(name -> environment.put(name, "x"));
    environment.put("PIPELANE_SECURITY_KEY", "x");
    environment.put("LANGUAGE", "de");
    ChildJvm.keepKnown(environment);
    assertEquals("C", environment.remove("LANGUAGE"), "what the kernel says is read by programs");
    assertEquals(kept, environment.keySet());
  }

  /** Only a thread that the signal hits while it compiles has anything to leave. */
  @Test
  void crash_ofAThreadThatCompiles_leavesNothingInItsFolder(@TempDir Path folder) throws Exception {
    for (int crash = 0; crash < CRASHES; crash++) {
      Process child =
          ChildJvm.program(
                  "exec \"$@\"",
                  List.of(),
                  List.of("-Xmx64m", "-Xcomp", "-XX:-TieredCompilation"),
                  Compiled.class,
                  List.of())
              .directory(folder.toFile())
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      try {
        signalSegmentation(compilingThread(child));
        // Its report may wait for ever for a lock that the thread has, if it has only just started.
        if (child.waitFor(REPORT_SECONDS, TimeUnit.SECONDS)) {
          assertNotEquals(0, child.exitValue());
        }
      } finally {
        child.destroyForcibly();
      }
    }
    try (Stream<Path> left = Files.list(folder)) {
      assertEquals(List.of(), left.toList());
    }
  }

  private static void signalSegmentation(String thread) throws Exception {
    assertEquals(0, new ProcessBuilder("/bin/sh", "-c", "kill -SEGV " + thread).start().waitFor());
  }

  private static String compilingThread(Process child) {
    while (true) {
      Optional<String> thread = computingCompiler(Path.of("/proc", child.pid() + "", "task"));
      if (thread.isPresent()) {
        return thread.get();
      }
      assertTrue(child.isAlive(), "it has ended by itself");
      LockSupport.parkNanos(1_000_000);
    }
  }

  private static Optional<String> computingCompiler(Path threads) {
    try (Stream<Path> all = Files.list(threads)) {
      return all.filter(ChildJvmTest::isCompiling)
          .map(thread -> thread.getFileName().toString())
          .findFirst();
    } catch (IOException e) {
      return Optional.empty(); // The process has not come so far.
    }
  }

  private static boolean isCompiling(Path thread) {
    try {
      String stat = Files.readString(thread.resolve("stat"));
      return stat.contains("(C2 CompilerThre) R");
    } catch (IOException e) {
      return false;
    }
  }
}
