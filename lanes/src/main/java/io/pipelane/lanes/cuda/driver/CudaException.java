package io.pipelane.lanes.cuda.driver;

import java.io.Serial;
import java.util.Locale;
import jcuda.driver.CUresult;

/** A call to CUDA's driver that failed: CUDA's name of the error, the call and its arguments. */
public final class CudaException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1L;

  private final int code;

  private CudaException(int code, String message) {
    super(message);
    this.code = code;
  }

  /**
   * The failure of a call.
   *
   * @param code what it returned
   * @param arguments addresses, handles and numbers; shown in hexadecimal from 64 Ki on
   */
  static CudaException of(int code, String function, long... arguments) {
    StringBuilder call = new StringBuilder(function).append('(');
    for (int i = 0; i < arguments.length; i++) {
      call.append(i == 0 ? "" : ", ");
      if (arguments[i] >= 0 && arguments[i] < 1 << 16) {
        call.append(arguments[i]);
      } else {
        call.append("0x").append(Long.toHexString(arguments[i]));
      }
    }
    return new CudaException(
        code,
        String.format(Locale.ROOT, "%s) failed: %s (%d)", call, CUresult.stringFor(code), code));
  }

  /** CUDA's name of the error, e.g. {@code CUDA_ERROR_OUT_OF_MEMORY}. */
  public String errorName() {
    return CUresult.stringFor(code);
  }

  /** Whether the driver does not do what it was asked for. */
  boolean isRefusal() {
    return code == CUresult.CUDA_ERROR_INVALID_VALUE || code == CUresult.CUDA_ERROR_NOT_SUPPORTED;
  }

  public boolean isOutOfMemory() {
    return code == CUresult.CUDA_ERROR_OUT_OF_MEMORY;
  }
}
