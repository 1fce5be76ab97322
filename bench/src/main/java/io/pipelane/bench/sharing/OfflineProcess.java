package io.pipelane.bench.sharing;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.pipelane.bench.local.OfflineLoad;
import io.pipelane.bench.process.ChildProcess;
import io.pipelane.loadgen.Loadgen;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * Offline work in a server of its own in a process of its own, which nothing tells of online work.
 */
final class OfflineProcess implements OfflineRuns {
  /*
   * The process is this program with the same arguments and one more, the file in whose first word
   * it writes how many runs have ended. It ends with its standard input.
   */
  static final String OPTION = "--offline-process";

  private static final long TICK_NANOS = 1_000_000;
  private static final VarHandle RUNS = JAVA_LONG.varHandle();

  private final ChildProcess process;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment count;

  /**
   * Starts one and waits until it works.
   *
   * @param arguments of this program, behind {@code bench}
   * @param environment beside this process's own
   */
  OfflineProcess(Path work, List<String> arguments, Map<String, String> environment)
      throws IOException, InterruptedException {
    Path file = work.resolve("offline-runs");
    Files.write(file, new byte[Long.BYTES]);
    count = map(file, arena);
    List<String> all = new ArrayList<>(List.of("bench"));
    all.addAll(arguments);
    all.addAll(List.of(OPTION, file.toString()));
    process = ChildProcess.start(work.resolve("offline.log"), Loadgen.class, all, environment);
  }

  private static MemorySegment map(Path file, Arena arena) throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return channel.map(FileChannel.MapMode.READ_WRITE, 0, Long.BYTES, arena);
    }
  }

  /** In the process: works until standard input ends. */
  static void work(OfflineLoad load, Path file) throws IOException {
    Thread work = Thread.currentThread();
    Thread end = Thread.ofPlatform().daemon().name("input-watch").start(() -> awaitEnd(work));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment runs = map(file, arena);
      load.awaitRuns(1);
      System.out.println("Listening on offline:///"); // As ChildProcess wants to hear it.
      while (end.isAlive()) {
        RUNS.setVolatile(runs, 0L, load.runs());
        LockSupport.parkNanos(TICK_NANOS);
      }
    }
  }

  private static void awaitEnd(Thread toWake) {
    try {
      while (System.in.read() >= 0) {
        // Nothing is said there.
      }
    } catch (IOException e) {
      // It has ended as well.
    }
    LockSupport.unpark(toWake);
  }

  @Override
  public long runs() {
    return (long) RUNS.getVolatile(count, 0L);
  }

  @Override
  public void close() throws IOException {
    process.close();
    arena.close();
  }
}
