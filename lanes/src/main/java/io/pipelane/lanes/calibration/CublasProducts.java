package io.pipelane.lanes.calibration;

import io.pipelane.lanes.PersistentMemory;
import io.pipelane.lanes.calibration.Calibration.ProductRate;
import io.pipelane.lanes.cuda.driver.JCudaLibraries;
import java.util.function.LongSupplier;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.JCudaDriver;
import jcuda.jcublas.JCublas2;
import jcuda.jcublas.cublasHandle;
import jcuda.jcublas.cublasMath;
import jcuda.jcublas.cublasOperation;

/** A measurement of FP32 matrix products by CUDA 12's cuBLAS, TF32 allowed. */
final class CublasProducts {
  private static final int WIDTH = 4096;
  private static final int PRODUCTS = 20;
  private static final byte SMALL_NUMBERS = 0x3c;

  private final PersistentMemory memory;
  private final LongSupplier nanoClock;

  CublasProducts(PersistentMemory memory, LongSupplier nanoClock) {
    this.memory = memory;
    this.nanoClock = nanoClock;
  }

  /**
   * Measures on the device whose context is bound.
   *
   * @throws LinkageError when there is no cuBLAS of CUDA 12
   * @throws IllegalStateException when it does not work here
   */
  ProductRate measure() {
    JCudaLibraries.load(JCublas2.class);
    cublasHandle handle = new cublasHandle();
    check(JCublas2.cublasCreate(handle), "cublasCreate");
    long bytes = (long) WIDTH * WIDTH * Float.BYTES;
    try (PersistentMemory.Account account = memory.open("calibration", 4 * bytes)) {
      check(
          JCublas2.cublasSetMathMode(handle, cublasMath.CUBLAS_TF32_TENSOR_OP_MATH),
          "cublasSetMathMode");
      CUdeviceptr a = matrix(account, bytes);
      CUdeviceptr b = matrix(account, bytes);
      CUdeviceptr c = matrix(account, bytes);
      multiply(handle, a, b, c, 1);
      long begin = nanoClock.getAsLong();
      multiply(handle, a, b, c, PRODUCTS);
      double nanos = Math.max(1, nanoClock.getAsLong() - begin);
      return new ProductRate(
          2.0 * WIDTH * WIDTH * WIDTH * PRODUCTS / nanos * 1e9,
          "cuBLAS, TF32, %d x %d".formatted(WIDTH, WIDTH));
    } finally {
      JCublas2.cublasDestroy(handle);
    }
  }

  private static CUdeviceptr matrix(PersistentMemory.Account account, long bytes) {
    long address = account.allocate(bytes);
    if (address == 0) {
      throw new IllegalStateException("no device memory for matrices of " + bytes + " bytes");
    }
    CUdeviceptr matrix = new CUdeviceptr().withByteOffset(address);
    check(JCudaDriver.cuMemsetD8(matrix, SMALL_NUMBERS, bytes), "cuMemsetD8");
    return matrix;
  }

  private static void multiply(
      cublasHandle handle, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, int times) {
    Pointer one = Pointer.to(new float[] {1});
    Pointer zero = Pointer.to(new float[] {0});
    int plain = cublasOperation.CUBLAS_OP_N;
    for (int i = 0; i < times; i++) {
      check(
          JCublas2.cublasSgemm(
              handle, plain, plain, WIDTH, WIDTH, WIDTH, one, a, WIDTH, b, WIDTH, zero, c, WIDTH),
          "cublasSgemm");
    }
    check(JCudaDriver.cuCtxSynchronize(), "cuCtxSynchronize");
  }

  private static void check(int result, String call) {
    if (result != 0) {
      throw new IllegalStateException(call + " failed with " + result);
    }
  }
}
