package io.pipelane.modelstore;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** Processes of {@link ChildJvm} that have outlived the process which has started them. */
public final class OrphanedChildren {
  /*
   * A child ends when its standard input does, so what is left cannot: it hangs, or was stopped.
   * Nobody keeps a list of children that could be lost or out of date: each has the id of its parent
   * among its words, and another parent once that one is gone, whoever has its id by then. Ids are
   * those of one namespace, and processes of others are let alone, as are those of other users.
   *
   * A handle stands for an id and a time of start, and ends nobody who has only the id.
   */
  private static final System.Logger LOG = System.getLogger(OrphanedChildren.class.getName());
  private static final Path PROCESSES = Path.of("/proc");
  private static final Duration LONGEST_KILL = Duration.ofSeconds(5);
  private static final long LOOK_AGAIN_NANOS = 10_000_000;

  private OrphanedChildren() {}

  /**
   * Ends those of this user, and returns when they are gone.
   *
   * @param patience how long they may take to end by themselves
   */
  public static void end(Duration patience) {
    List<ProcessHandle> orphans =
        ProcessHandle.allProcesses().filter(OrphanedChildren::isOrphan).toList();
    List<ProcessHandle> left = awaitEnd(orphans, patience);
    for (ProcessHandle orphan : left) {
      LOG.log(
          Level.WARNING,
          "process %d was left behind by one that is gone, and is ended".formatted(orphan.pid()));
      boolean _ = orphan.destroyForcibly();
    }
    for (ProcessHandle orphan : awaitEnd(left, LONGEST_KILL)) {
      LOG.log(
          Level.ERROR,
          "process %d was left behind, and cannot be ended; what it has of a device is taken"
              .formatted(orphan.pid()));
    }
  }

  /** Answers those that are there after that time. */
  private static List<ProcessHandle> awaitEnd(List<ProcessHandle> orphans, Duration longest) {
    long begin = System.nanoTime();
    List<ProcessHandle> left = orphans;
    while (!left.isEmpty() && System.nanoTime() - begin < longest.toNanos()) {
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
      left = left.stream().filter(OrphanedChildren::isOrphan).toList();
    }
    return left;
  }

  /** One that has ended, and that nobody has asked for its exit yet, has no words. */
  private static boolean isOrphan(ProcessHandle process) {
    Optional<Long> declared = declaredParent(process);
    Optional<ProcessHandle> parent = process.parent();
    return declared.isPresent()
        && parent.isPresent()
        && parent.get().pid() != declared.get()
        && isOurs(process);
  }

  private static Optional<Long> declaredParent(ProcessHandle process) {
    try {
      byte[] words = Files.readAllBytes(folder(process).resolve("cmdline"));
      return ChildJvm.parent(List.of(new String(words, StandardCharsets.UTF_8).split("\0", -1)));
    } catch (IOException e) {
      return Optional.empty(); // It has just ended.
    }
  }

  /** Whether it runs as the user that we run as, and its number is one of those that we see. */
  private static boolean isOurs(ProcessHandle process) {
    try {
      Path self = folder(ProcessHandle.current());
      return Files.getAttribute(self, "unix:uid")
              .equals(Files.getAttribute(folder(process), "unix:uid"))
          && Files.readSymbolicLink(self.resolve("ns/pid"))
              .equals(Files.readSymbolicLink(folder(process).resolve("ns/pid")));
    } catch (IOException e) {
      return false;
    }
  }

  private static Path folder(ProcessHandle process) {
    return PROCESSES.resolve(Long.toString(process.pid()));
  }
}
