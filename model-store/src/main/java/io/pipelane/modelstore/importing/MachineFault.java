package io.pipelane.modelstore.importing;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.util.regex.Pattern;

/**
 * The distinction between a fault of the machine and one of a model: import finds out about models
 * by trying, and what it finds is kept.
 */
final class MachineFault {
  /** The words of the C++ library, ONNX Runtime, Java and the kernel. */
  private static final Pattern NO_MEMORY =
      Pattern.compile(
          "bad_alloc|Failed to allocate memory|OutOfMemoryError|Map failed|(?i:out of memory)"
              + "|Could not (reserve|allocate)|insufficient memory|Cannot allocate memory");

  /**
   * The words of the kernel where files, disks or processes fail, and the libraries of a GPU; ONNX
   * Runtime repeats them among others.
   */
  private static final Pattern MACHINE =
      Pattern.compile(
          "(?i)input/output error|no space left|quota exceeded|file too large|read-only file system"
              + "|permission denied|operation not permitted|no such file|stale file handle"
              + "|too many open files|resource temporarily unavailable|interrupted system call"
              + "|failed to (write|flush|open)|\\bserialization failed"
              + "|bus error|cuda|cudnn|cublas|cufft|nvrtc");

  private MachineFault() {}

  /** Whether a reason has a word of the machine; a name in a model may be such a word too. */
  static boolean isNamedIn(String reason) {
    return saysNoMemory(reason) || MACHINE.matcher(reason).find();
  }

  /** Whether words say that memory was lacking. */
  static boolean saysNoMemory(String text) {
    return NO_MEMORY.matcher(text).find();
  }

  /** Whether an attempt failed for lack of memory. */
  static boolean isNoMemory(RuntimeException e) {
    return e instanceof StatusException error
        && (error.status() == Status.INSUFFICIENT_MEMORY
            || saysNoMemory(String.valueOf(error.getMessage())));
  }

  /**
   * Ends an import whose attempt failed by the machine; returns where it was the model.
   *
   * @throws StatusException {@link Status#INSUFFICIENT_MEMORY} or {@link Status#DEVICE_FAILURE}
   */
  static void rethrow(RuntimeException e) {
    if (isNoMemory(e)) {
      throw new StatusException(Status.INSUFFICIENT_MEMORY, String.valueOf(e.getMessage()), e);
    }
    if (e instanceof StatusException error && error.status() == Status.DEVICE_FAILURE) {
      throw error;
    }
  }
}
