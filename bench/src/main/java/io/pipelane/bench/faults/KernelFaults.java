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
 * Kernels that one worker of a server is to launch while it computes: each a file in a folder that
 * the server's environment names. The worker that first deletes it has it.
 */
public final class KernelFaults implements WorkerSteps {
  private static final String VARIABLE = "PIPELANE_BENCH_KERNEL_FAULTS";

  private final Optional<Path> folder = Optional.ofNullable(System.getenv(VARIABLE)).map(Path::of);

  /** In a worker; without the variable nothing is ever done. */
  public KernelFaults() {}

  /** What a server's environment says, for its workers. */
  static Map<String, String> environment(Path folder) {
    return Map.of(VARIABLE, folder.toAbsolutePath().toString());
  }

  /** Has the next worker that computes launch a kernel. */
  static void arm(Path folder, FaultyKernel kernel) throws IOException {
    Files.createDirectories(folder);
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
