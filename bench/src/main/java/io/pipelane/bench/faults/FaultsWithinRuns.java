package io.pipelane.bench.faults;

import io.pipelane.lanes.process.worker.WorkerSteps;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Faults that one worker of a server is to have while it computes. Each is a file, named after it
 * and the worker's process. The files lie in a folder below the server's TMPDIR, one of the few
 * variables that workers have, too. A worker deletes one before it has it.
 */
public final class FaultsWithinRuns implements WorkerSteps {
  /*
   * A segment but a run's first is computed from inside ONNX Runtime's call of a gate, which is a
   * custom operator of the model's graph, unless a GPU replays a capture. So faults are had from a
   * run's second segment on.
   */
  private static final String VARIABLE = "TMPDIR";
  private static final String FOLDER = "faults-within-runs";

  private final Optional<Path> folder =
      Optional.ofNullable(System.getenv(VARIABLE))
          .map(temporary -> Path.of(temporary, FOLDER))
          .filter(Files::isDirectory);

  /** Segments of its run that the calling thread has begun to compute. */
  private final ThreadLocal<Integer> begun = ThreadLocal.withInitial(() -> 0);

  /** In a worker; without the folder nothing is ever done. */
  public FaultsWithinRuns() {}

  /**
   * Makes the folder, empty; before the server starts.
   *
   * @param temporary the server's TMPDIR
   */
  static Path prepare(Path temporary) throws IOException {
    Path folder = Files.createDirectories(temporary.resolve(FOLDER));
    try (Stream<Path> left = Files.list(folder)) {
      for (Path file : left.toList()) {
        Files.delete(file);
      }
    }
    return folder;
  }

  /** What the server's environment says. */
  static Map<String, String> environment(Path temporary) {
    return Map.of(VARIABLE, temporary.toAbsolutePath().toString());
  }

  /** Has a worker have a fault when it next computes. */
  static void arm(Path folder, FaultWithinRun fault, long pid) throws IOException {
    Files.createFile(file(folder, fault, pid));
  }

  /** Whether it has not had it yet. */
  static boolean isArmed(Path folder, FaultWithinRun fault, long pid) {
    return Files.exists(file(folder, fault, pid));
  }

  private static Path file(Path folder, FaultWithinRun fault, long pid) {
    return folder.resolve(fault.name() + "-" + pid);
  }

  @Override
  public void reached(Step step, String structure) {
    if (folder.isEmpty()) {
      return;
    }
    if (step == Step.RUNNING) {
      begun.set(0);
    } else if (step == Step.COMPUTING) {
      begun.set(begun.get() + 1);
      if (begun.get() > 1) {
        haveFaults(folder.get());
      }
    }
  }

  private static void haveFaults(Path armed) {
    for (FaultWithinRun fault : FaultWithinRun.values()) {
      if (takes(file(armed, fault, ProcessHandle.current().pid()))) {
        fault.have();
      }
    }
  }

  private static boolean takes(Path armed) {
    try {
      if (!Files.exists(armed)) {
        return false;
      }
      Files.delete(armed);
      return true;
    } catch (NoSuchFileException e) {
      return false; // Another thread has it.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
