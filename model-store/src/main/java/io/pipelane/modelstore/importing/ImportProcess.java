package io.pipelane.modelstore.importing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ChildJvm;
import io.pipelane.runtime.graph.GraphTarget;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A process of its own for {@link ImportMain}: a hostile file can make ONNX Runtime loop, allocate
 * without end, or abort.
 *
 * <p>Limits on address space, file size and core dumps are set by the shell that starts it; time is
 * watched from here. The process ends by itself when this one does. For a GPU the address space is
 * not limited: CUDA reserves as many addresses as the machine and its GPUs have memory, and fails
 * where it cannot; the Java heap, the size of the files and the time limit are what bounds it
 * there.
 */
final class ImportProcess {
  private static final String LOG = "import.log";

  /** Where memory runs short the kernel is to end this one before the server and its workers. */
  static final String LIMITS =
      "{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null; "
          + "ulimit -c 0; ulimit -v \"$1\"; ulimit -f \"$2\"; shift 2; exec \"$@\"";

  private ImportProcess() {}

  /**
   * Imports a model into an empty folder, blocking.
   *
   * @return why the model is refused, where every import of it within these limits would refuse it
   * @throws StatusException why it is not imported this time
   */
  static Optional<StatusException> run(Path modelFile, Path folder, ImportSettings settings)
      throws IOException {
    Path log = folder.resolve(LOG);
    Process process = program(modelFile, folder, settings).redirectOutput(log.toFile()).start();
    try {
      if (!process.waitFor(settings.timeLimit().toNanos(), TimeUnit.NANOSECONDS)) {
        Duration computed = process.info().totalCpuDuration().orElse(Duration.ZERO);
        return lastingOrThrown(
            new StatusException(
                Status.INVALID_ARGUMENT,
                "import was ended after the time limit of %s; raise import.timeout to import this model"
                    .formatted(settings.timeLimit())),
            settings.target().graph() == GraphTarget.PROCESSOR // A wait for a GPU computes, too.
                && ImportOutcome.isLastingTimeout(computed, settings.timeLimit()));
      }
      int exit = process.exitValue();
      if (exit != 0) {
        StatusException failure = ImportOutcome.failure(exit, folder, log, settings);
        return lastingOrThrown(failure, ImportOutcome.isLasting(exit, folder, failure));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StatusException(Status.CANCELLED, "import was interrupted", e);
    } finally {
      process.destroyForcibly();
      process.getOutputStream().close();
      process.onExit().join(); // Until then it may write into the folder, which is deleted next.
    }
    Files.deleteIfExists(log);
    return Optional.empty();
  }

  private static Optional<StatusException> lastingOrThrown(
      StatusException failure, boolean isLasting) {
    if (isLasting) {
      return Optional.of(failure);
    }
    throw failure;
  }

  private static ProcessBuilder program(Path modelFile, Path folder, ImportSettings settings) {
    return ChildJvm.program(
        LIMITS,
        List.of(addressSpace(settings), Long.toString(settings.modelSizeLimit().bytes() >> 9)),
        List.of(
            "-Xmx" + settings.heapLimit().bytes(),
            "-XX:TieredStopAtLevel=1",
            "-XX:CompressedClassSpaceSize=64m",
            "-XX:ReservedCodeCacheSize=48m"),
        ImportMain.class,
        ImportMain.arguments(modelFile, folder, settings));
  }

  private static String addressSpace(ImportSettings settings) {
    return switch (settings.target().graph()) {
      case PROCESSOR -> Long.toString(settings.memoryLimit().bytes() >> 10);
      case GPU -> "unlimited";
    };
  }
}
