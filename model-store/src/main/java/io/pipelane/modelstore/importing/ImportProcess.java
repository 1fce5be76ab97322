package io.pipelane.modelstore.importing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ChildJvm;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Runs {@link ImportMain} in a process of its own: a hostile file can make ONNX Runtime loop,
 * allocate without end, or abort.
 *
 * <p>Limits on address space, file size and core dumps are set by the shell that starts it; time is
 * watched from here. The process ends by itself when this one does. For a GPU the address space is
 * not limited: CUDA reserves as many addresses as the machine and its GPUs have memory, and fails
 * where it cannot; the Java heap, the size of the files and the time limit are what bounds it
 * there.
 */
final class ImportProcess {
  private static final String LOG = "import.log";
  private static final int LOG_TAIL_BYTES = 2000;
  private static final String LIMITS =
      "ulimit -c 0; ulimit -v \"$1\"; ulimit -f \"$2\"; shift 2; exec \"$@\"";

  private ImportProcess() {}

  /** Imports a model into an empty folder, blocking; refusals come as {@link StatusException}. */
  static void run(Path modelFile, Path folder, ImportSettings settings) throws IOException {
    Path log = folder.resolve(LOG);
    Process process = program(modelFile, folder, settings).redirectOutput(log.toFile()).start();
    try {
      if (!process.waitFor(settings.timeLimit().toNanos(), TimeUnit.NANOSECONDS)) {
        throw new StatusException(
            Status.INVALID_ARGUMENT,
            "import was ended after the time limit of %s; raise import.timeout to import this model"
                .formatted(settings.timeLimit()));
      }
      checkOutcome(process.exitValue(), folder, log, settings);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StatusException(Status.CANCELLED, "import was interrupted", e);
    } finally {
      process.destroyForcibly();
      process.getOutputStream().close();
      process.onExit().join(); // Until then it may write into the folder, which is deleted next.
    }
    Files.deleteIfExists(log);
  }

  private static void checkOutcome(int exit, Path folder, Path log, ImportSettings settings)
      throws IOException {
    if (exit == 0) {
      return;
    }
    Path refusal = folder.resolve(ImportMain.REFUSAL);
    if (exit == ImportMain.REFUSED && Files.isRegularFile(refusal)) {
      throw explained(ImportMain.readRefusal(refusal), settings);
    }
    String output = tail(log);
    if (output.contains("OutOfMemoryError")) {
      throw outOfMemory(output, settings);
    }
    throw new StatusException(
        Status.INVALID_ARGUMENT,
        "import ended with code %d (import.memory %s, import.max-file-size %s): %s"
            .formatted(exit, settings.memoryLimit(), settings.modelSizeLimit(), output));
  }

  /** ONNX Runtime says no more of a lack of memory than the C++ exception's name. */
  private static StatusException explained(StatusException refusal, ImportSettings settings) {
    String message = String.valueOf(refusal.getMessage());
    if (!message.contains("bad_alloc")) {
      return refusal;
    }
    return outOfMemory(message, settings);
  }

  private static StatusException outOfMemory(String message, ImportSettings settings) {
    return new StatusException(
        Status.INSUFFICIENT_MEMORY,
        "import ran out of memory: import.memory is %s, %s of it Java heap; raise it to import this model (%s)"
            .formatted(settings.memoryLimit(), settings.heapLimit(), message));
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

  private static String tail(Path log) throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "r")) {
      file.seek(Math.max(0, file.length() - LOG_TAIL_BYTES));
      byte[] bytes = new byte[(int) (file.length() - file.getFilePointer())];
      file.readFully(bytes);
      return new String(bytes, StandardCharsets.UTF_8).strip();
    }
  }
}
