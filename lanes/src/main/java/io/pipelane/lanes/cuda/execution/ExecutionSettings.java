package io.pipelane.lanes.cuda.execution;

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
}
