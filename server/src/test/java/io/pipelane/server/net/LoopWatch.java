package io.pipelane.server.net;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Sees what blocks an event loop, by Flight Recorder's events of the virtual machine: waiting for a
 * monitor's notification, sleeping, parking, and reading or writing files. Waiting for a lock is
 * let pass: those are held briefly.
 */
public final class LoopWatch implements AutoCloseable {
  private static final List<String> BLOCKING =
      List.of(
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
    return RecordingFile.readAllEvents(file).stream()
        .filter(LoopWatch::isOnLoop)
        .filter(event -> !isLockOrLoading(event))
        .map(RecordedEvent::toString)
        .toList();
  }

  private static boolean isOnLoop(RecordedEvent event) {
    RecordedThread thread = event.getThread();
    String name = thread == null ? null : thread.getJavaName();
    return name != null
        && !name.contains("codec")
        && LOOPS.stream().anyMatch(name::startsWith)
        && frames(event).stream().anyMatch(type -> type.startsWith("io.pipelane."));
  }

  private static boolean isLockOrLoading(RecordedEvent event) {
    return frames(event).stream()
        .anyMatch(type -> LOCKING.contains(type) || type.startsWith("jdk.internal.loader."));
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
