package io.pipelane.modelstore.importing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalInt;

/** The reason why an import process has failed: by the model, by a limit, or by the machine. */
final class ImportOutcome {
  private static final int LOG_TAIL_BYTES = 2000;

  /** What a file that grew beyond the limit of its process is refused with. */
  private static final String FILE_LIMIT = "File too large";

  private static final String DISK_FULL = "No space left on device";
  private static final double SHARE_OF_A_LOOP = 0.9;
  private static final int OF_SIGNAL = 128;
  private static final int SIGKILL = 9;
  private static final int SIGTERM = 15;

  private ImportOutcome() {}

  /** The failure of a process that has ended, by its code and what it left in its folder. */
  static StatusException failure(int exit, Path folder, Path log, ImportSettings settings)
      throws IOException {
    return isExplained(exit, folder)
        ? explained(ImportMain.readRefusal(folder.resolve(ImportMain.REFUSAL)), settings)
        : failure(exit, tail(log), settings);
  }

  /** Whether the process has said what is wrong with the model. */
  private static boolean isExplained(int exit, Path folder) {
    return exit == ImportMain.REFUSED && Files.isRegularFile(folder.resolve(ImportMain.REFUSAL));
  }

  /** The failure of a process that said no more than its log's last words. */
  static StatusException failure(int exit, String output, ImportSettings settings) {
    if (MachineFault.saysNoMemory(output)) {
      return outOfMemory(output, settings);
    }
    OptionalInt killedBy = killedBy(exit);
    if (killedBy.isPresent()) {
      return new StatusException(
          Status.UNAVAILABLE,
          ("import was ended from outside (signal %d), mostly because the machine or container ran"
                  + " short of memory; load the model again, with more memory or a lower"
                  + " import.memory (%s)")
              .formatted(killedBy.getAsInt(), settings.memoryLimit()));
    }
    if (output.contains(FILE_LIMIT)) {
      return new StatusException(
          Status.TOO_LARGE,
          "import wrote a file of more than %s; raise import.max-file-size to import this model (%s)"
              .formatted(settings.modelSizeLimit(), output));
    }
    if (exit == ImportMain.FILES_FAILED || output.contains(DISK_FULL)) {
      return filesFailed(output);
    }
    return new StatusException(
        Status.INVALID_ARGUMENT,
        "import ended with code %d (import.memory %s, import.max-file-size %s): %s"
            .formatted(exit, settings.memoryLimit(), settings.modelSizeLimit(), output));
  }

  /**
   * Whether another import of the same file would fail alike: the process said what is wrong with
   * the model, and no word of that is about the machine. A process that crashed may have met with
   * bad memory or a file that went away; and words do not tell a limit of memory from the machine's
   * end of it.
   */
  static boolean isLasting(int exit, Path folder, StatusException failure) {
    boolean isOfTheModel =
        switch (failure.status()) {
          case INVALID_ARGUMENT, TOO_LARGE, UNIMPLEMENTED -> true;
          default -> false;
        };
    return isOfTheModel
        && isExplained(exit, folder)
        && !MachineFault.isNamedIn(String.valueOf(failure.getMessage()));
  }

  /**
   * Whether another import of the same file would run into its time limit alike: it computed nearly
   * all the time, and did not wait for a processor or a disk. Import computes on one thread.
   *
   * @param computed processor time that it took
   */
  static boolean isLastingTimeout(Duration computed, Duration limit) {
    return computed.toNanos() >= limit.toNanos() * SHARE_OF_A_LOOP;
  }

  /** ONNX Runtime says no more of a lack of memory than the C++ exception's name. */
  private static StatusException explained(StatusException refusal, ImportSettings settings) {
    String message = String.valueOf(refusal.getMessage());
    if (message.contains(DISK_FULL)) {
      return filesFailed(message);
    }
    return refusal.status() == Status.INSUFFICIENT_MEMORY || MachineFault.saysNoMemory(message)
        ? outOfMemory(message, settings)
        : refusal;
  }

  private static StatusException filesFailed(String output) {
    return new StatusException(
        Status.UNAVAILABLE,
        "import could not read or write its files; see to the disks of repository.path and"
            + " repository.cache and load the model again ("
            + (output.isEmpty() ? "no more is known, as on a full disk" : output)
            + ")");
  }

  private static StatusException outOfMemory(String message, ImportSettings settings) {
    return new StatusException(
        Status.INSUFFICIENT_MEMORY,
        switch (settings.target().graph()) {
          case PROCESSOR ->
              "import ran out of memory: import.memory is %s, %s of it Java heap; raise it to import this model (%s)"
                  .formatted(settings.memoryLimit(), settings.heapLimit(), message);
          case GPU ->
              "import ran out of memory, the device's or its Java heap of %s, a quarter of import.memory; free the one or raise the other to import this model (%s)"
                  .formatted(settings.heapLimit(), message);
        });
  }

  private static OptionalInt killedBy(int exit) {
    int signal = exit - OF_SIGNAL;
    return signal == SIGKILL || signal == SIGTERM ? OptionalInt.of(signal) : OptionalInt.empty();
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
