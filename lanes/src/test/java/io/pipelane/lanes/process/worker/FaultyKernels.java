package io.pipelane.lanes.process.worker;

import java.nio.charset.StandardCharsets;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.JCudaDriver;

/** Kernels that no GPU survives well, in the context of the calling thread. */
public final class FaultyKernels {
  private static final String SOURCE =
      """
      .version 7.0
      .target sm_70
      .address_size 64
      .visible .entry illegal()
      {
        .reg .u64 %address;
        .reg .u32 %value;
        mov.u64 %address, 16;
        mov.u32 %value, 1;
        st.global.u32 [%address], %value;
        ret;
      }
      .visible .entry endless()
      {
      AGAIN:
        bra AGAIN;
      }
      """;

  /** More than run at once on any GPU. */
  private static final int BLOCKS = 1 << 14;

  private static final int THREADS = 1024;

  private FaultyKernels() {}

  /** Writes to an address that is nobody's: the context is of no use afterwards. */
  public static void launchIllegal() {
    launch("illegal", 1, 1);
  }

  static void launchEndless() {
    launch("endless", BLOCKS, THREADS);
  }

  private static void launch(String name, int blocks, int threads) {
    CUmodule module = new CUmodule();
    byte[] source = (SOURCE + "\0").getBytes(StandardCharsets.US_ASCII);
    check(JCudaDriver.cuModuleLoadData(module, source), "cuModuleLoadData");
    CUfunction function = new CUfunction();
    check(JCudaDriver.cuModuleGetFunction(function, module, name), "cuModuleGetFunction");
    check(
        JCudaDriver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, null, null, null),
        "cuLaunchKernel");
  }

  private static void check(int result, String call) {
    if (result != 0) {
      throw new IllegalStateException(call + " answered " + result);
    }
  }
}
