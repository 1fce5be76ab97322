package io.pipelane.lanes.cuda;

import java.util.regex.Pattern;

/**
 * How sessions of a GPU are built and run.
 *
 * @param tf32 whether FP32 products may be rounded to TF32
 * @param cublasWorkspace what {@code CUBLAS_WORKSPACE_CONFIG} says where the environment does not:
 *     {@code :4096:1} makes a session 15 MB instead of 80 and costs 0 to 4 % of its speed; empty
 *     leaves cuBLAS its default
 */
public record ExecutionSettings(boolean tf32, String cublasWorkspace, CaptureSettings captures) {
  public static final ExecutionSettings DEFAULT =
      new ExecutionSettings(true, ":4096:1", CaptureSettings.DEFAULT);

  /** What a session, a first run or a capture takes beside a workspace: about 10 MiB were seen. */
  private static final long LIBRARY_BYTES = 28L << 20;

  private static final long DEFAULT_WORKSPACE_BYTES = 32L << 20;

  /** Pairs of a size in KiB and a number of buffers. */
  private static final Pattern WORKSPACE = Pattern.compile(":(\\d{1,9}):(\\d{1,4})");

  /** The most that libraries are believed to take at once for one session. */
  public long mostLibraryBytes() {
    long workspace =
        WORKSPACE
            .matcher(cublasWorkspace)
            .results()
            .mapToLong(
                pair -> (Long.parseLong(pair.group(1)) << 10) * Long.parseLong(pair.group(2)))
            .sum();
    return LIBRARY_BYTES + (workspace == 0 ? DEFAULT_WORKSPACE_BYTES : workspace);
  }
}
