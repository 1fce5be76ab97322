package io.pipelane.modelstore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class OrphanedChildrenTest {
  /** A child that does not notice when its parent dies. */
  public static final class Heedless {
    private Heedless() {}

    /** Does nothing, for ever. */
    public static void main(String[] arguments) throws InterruptedException {
      new CountDownLatch(1).await();
    }
  }

  private static ProcessBuilder child() {
    return ChildJvm.program(
        "exec \"$@\"", List.of(), List.of("-Xmx16m"), Heedless.class, List.of());
  }

  /** Nothing of a process that is gone, or goes meanwhile. */
  private static String read(long id, String file) {
    try {
      return Files.readString(Path.of("/proc", Long.toString(id), file));
    } catch (IOException e) {
      return "";
    }
  }

  private static String words(long id) {
    return read(id, "cmdline");
  }

  /** The shell that prepares it becomes it. */
  private static void awaitStart(long id) {
    while (!words(id).split("\0", 2)[0].endsWith("/bin/java")) {
      assertFalse(isDead(id), "it has died before it had started");
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** Its words are gone for a moment too when it becomes another program. */
  private static boolean isDead(long id) {
    String stat = read(id, "stat");
    return stat.isEmpty() || stat.substring(stat.lastIndexOf(')') + 2).startsWith("Z");
  }

  private static boolean isGone(long id) {
    return words(id).isEmpty();
  }

  /** The shell that starts it is its parent, and ends, saying which process it was. */
  private static long orphan() throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of("/bin/sh", "-c", "\"$@\" </dev/null >/dev/null 2>&1 & echo $!", "sh"));
    command.addAll(child().command());
    Process shell = new ProcessBuilder(command).start();
    long orphan = Long.parseLong(shell.inputReader(StandardCharsets.UTF_8).readLine());
    assertEquals(0, shell.waitFor());
    awaitStart(orphan);
    return orphan;
  }

  @Test
  void end_childOfOneThatIsGone_endsIt() throws Exception {
    long orphan = orphan();
    assertFalse(isGone(orphan));
    OrphanedChildren.end(Duration.ZERO);
    assertTrue(isGone(orphan));
  }

  /** What is stopped notices nothing at all. */
  @Test
  void end_childThatIsStopped_endsIt() throws Exception {
    long orphan = orphan();
    assertEquals(0, new ProcessBuilder("kill", "-STOP", Long.toString(orphan)).start().waitFor());
    OrphanedChildren.end(Duration.ofMillis(1));
    assertTrue(isGone(orphan));
  }

  @Test
  void end_childOfOneThatLives_letsItAlone() throws Exception {
    Process child = child().start();
    try {
      awaitStart(child.pid());
      OrphanedChildren.end(Duration.ZERO);
      assertTrue(child.isAlive());
    } finally {
      child.destroyForcibly().waitFor();
    }
  }

  /** Others may have the same word on their command lines. */
  @Test
  void parent_isThatOfJavaProcessesAlone() {
    String word = "-Dpipelane.parent=12";
    assertEquals(Optional.of(12L), ChildJvm.parent(List.of("/jdk/bin/java", "-Xmx16m", word)));
    assertEquals(Optional.empty(), ChildJvm.parent(List.of("/jdk/bin/java", "-Xmx16m")));
    assertEquals(Optional.empty(), ChildJvm.parent(List.of("grep", word)));
    assertEquals(Optional.empty(), ChildJvm.parent(List.of("")));
    assertEquals(Optional.empty(), ChildJvm.parent(List.of("/bin/java", word + "x")));
  }
}
