package io.pipelane.server.net;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Sees what blocks an event loop, by Flight Recorder's events of the virtual machine: waiting for a
 * lock or a monitor's notification, sleeping, parking, and reading or writing files. Waiting for a
 * lock counts where it is one of those under which memory is mapped or files are opened; others are
 * held for the sake of some fields.
 */
public final class LoopWatch implements AutoCloseable {
  private static final List<String> BLOCKING =
      List.of(
          "jdk.JavaMonitorEnter",
          "jdk.JavaMonitorWait",
          "jdk.ThreadSleep",
          "jdk.ThreadPark",
          "jdk.FileRead",
          "jdk.FileWrite",
          "jdk.FileForce",
          "jdk.SocketRead");

  /** Threads that are event loops, by how their names begin. */
  private static final List<String> LOOPS = List.of("http-", "grpc-");

  private static final Set<String> LOCKING =
      Set.of(
          "java.util.concurrent.locks.ReentrantLock",
          "java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock",
          "java.util.concurrent.locks.ReentrantReadWriteLock$WriteLock");

  /** Who has locks under which memory is mapped or files are opened, by how names begin. */
  private static final List<String> LONG_HELD =
      List.of(
          "io.pipelane.lanes.execution.",
          "io.pipelane.modelstore.",
          "io.pipelane.server.catalog.",
          "io.pipelane.switcher.memory.");

  /** What stands between a lock and who has it. */
  private static final List<String> BETWEEN =
      List.of("java.util.concurrent.locks.", "java.lang.", "jdk.internal.");

  private final Recording recording = new Recording();

  /** Begins to watch all threads of the process. */
  public LoopWatch() {
    BLOCKING.forEach(event -> recording.enable(event).withoutThreshold().withStackTrace());
    recording.start();
  }

  /**
   * What has blocked an event loop so far, with stacks.
   *
   * @param file is written to, and must not exist
   */
  public List<String> seen(Path file) throws IOException {
    recording.stop();
    recording.dump(file);
    List<String> seen = new ArrayList<>();
    try (RecordingFile events = new RecordingFile(file)) {
      while (events.hasMoreEvents()) { // All of them at a time may be more than fits in the heap.
        RecordedEvent event = events.readEvent();
        if (isOnLoop(event) && !isLoading(event) && !isShortHeld(event)) {
          seen.add(event.toString());
        }
      }
    }
    return seen;
  }

  private static boolean isOnLoop(RecordedEvent event) {
    RecordedThread thread = event.getThread();
    String name = thread == null ? null : thread.getJavaName();
    return name != null
        && !name.contains("codec")
        && LOOPS.stream().anyMatch(name::startsWith)
        && frames(event).stream().anyMatch(type -> type.startsWith("io.pipelane."));
  }

  private static boolean isLoading(RecordedEvent event) {
    return isInitializing(event)
        || frames(event).stream().anyMatch(type -> type.startsWith("jdk.internal.loader."));
  }

  /** The virtual machine waits at an array of its own for a class that another thread begins. */
  private static boolean isInitializing(RecordedEvent event) {
    return event.getEventType().getName().equals("jdk.JavaMonitorWait")
        && event.getClass("monitorClass").getName().equals("[I");
  }

  private static boolean isShortHeld(RecordedEvent event) {
    boolean isLock =
        event.getEventType().getName().equals("jdk.JavaMonitorEnter")
            || frames(event).stream().anyMatch(LOCKING::contains);
    return isLock
        && frames(event).stream()
            .filter(type -> BETWEEN.stream().noneMatch(type::startsWith))
            .findFirst()
            .filter(owner -> LONG_HELD.stream().anyMatch(owner::startsWith))
            .isEmpty();
  }

  private static List<String> frames(RecordedEvent event) {
    return event.getStackTrace() == null
        ? List.of()
        : event.getStackTrace().getFrames().stream()
            .filter(RecordedFrame::isJavaFrame)
            .map(frame -> frame.getMethod().getType().getName())
            .toList();
  }

  @Override
  public void close() {
    recording.close();
  }
}
