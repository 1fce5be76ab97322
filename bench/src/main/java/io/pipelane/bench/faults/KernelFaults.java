package io.pipelane.bench.faults;

import io.pipelane.lanes.process.worker.WorkerSteps;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * Kernels that one worker of a server is to launch while it computes: each a file in a folder below
 * the server's TMPDIR, one of the few variables that workers have, too. The worker that first
 * deletes it has it.
 */
public final class KernelFaults implements WorkerSteps {
  private static final String VARIABLE = "TMPDIR";
  private static final String FOLDER = "kernel-faults";

  private final Optional<Path> folder =
      Optional.ofNullable(System.getenv(VARIABLE))
          .map(temporary -> Path.of(temporary, FOLDER))
          .filter(Files::isDirectory);

  /** In a worker; without the folder nothing is ever done. */
  public KernelFaults() {}

  /**
   * Makes the folder, empty; before the server starts.
   *
   * @param temporary the server's TMPDIR
   */
  static Path prepare(Path temporary) throws IOException {
    Path folder = Files.createDirectories(temporary.resolve(FOLDER));
    for (FaultyKernel kernel : FaultyKernel.values()) {
      boolean _ = Files.deleteIfExists(folder.resolve(kernel.name()));
    }
    return folder;
  }

  /** What the server's environment says. */
  static Map<String, String> environment(Path temporary) {
    return Map.of(VARIABLE, temporary.toAbsolutePath().toString());
  }

  /** Has the next worker that computes launch a kernel. */
  static void arm(Path folder, FaultyKernel kernel) throws IOException {
    Files.createFile(folder.resolve(kernel.name()));
  }

  /** Whether a kernel has not been launched yet. */
  static boolean isArmed(Path folder, FaultyKernel kernel) {
    return Files.exists(folder.resolve(kernel.name()));
  }

  @Override
  public void reached(Step step, String structure) {
    if (step == Step.COMPUTING && folder.isPresent()) {
      for (FaultyKernel kernel : FaultyKernel.values()) {
        if (takes(folder.get().resolve(kernel.name()))) {
          kernel.launch();
        }
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
      return false; // Another worker has it.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
