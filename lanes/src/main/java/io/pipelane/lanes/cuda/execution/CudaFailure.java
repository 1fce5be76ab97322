package io.pipelane.lanes.cuda.execution;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.driver.CudaException;
import java.util.Set;

/** The meaning of a failed call to CUDA for a request. */
final class CudaFailure {
  /** Errors that every later call answers too, until the process ends. */
  private static final Set<String> STICKY =
      Set.of(
          "CUDA_ERROR_CONTEXT_IS_DESTROYED",
          "CUDA_ERROR_ECC_UNCORRECTABLE",
          "CUDA_ERROR_NVLINK_UNCORRECTABLE",
          "CUDA_ERROR_ILLEGAL_ADDRESS",
          "CUDA_ERROR_LAUNCH_TIMEOUT",
          "CUDA_ERROR_ASSERT",
          "CUDA_ERROR_HARDWARE_STACK_ERROR",
          "CUDA_ERROR_ILLEGAL_INSTRUCTION",
          "CUDA_ERROR_MISALIGNED_ADDRESS",
          "CUDA_ERROR_INVALID_ADDRESS_SPACE",
          "CUDA_ERROR_INVALID_PC",
          "CUDA_ERROR_LAUNCH_FAILED",
          "CUDA_ERROR_UNKNOWN");

  private CudaFailure() {}

  /** The error that a caller is given. */
  static StatusException of(CudaException e) {
    String message = String.valueOf(e.getMessage());
    Status status =
        e.errorName().equals("CUDA_ERROR_OUT_OF_MEMORY")
            ? Status.INSUFFICIENT_MEMORY
            : Status.DEVICE_FAILURE;
    return new StatusException(
        status,
        isSticky(e)
            ? message + "; the device does no more for this process, which must be restarted"
            : message,
        e);
  }

  /** Whether the process can no longer use the device. */
  static boolean isSticky(CudaException e) {
    return STICKY.contains(e.errorName());
  }
}
